// The outlines of the land, by Natural Earth (public domain), as rings of [longitude, latitude] in tenths of a degree.

import { feature } from "topojson-client";
import world from "world-atlas/land-110m.json";

const round = (number) => Math.round(number * 10) / 10;
const polygons = feature(world, world.objects.land).features.flatMap(({ geometry }) => (geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates));

export const land = polygons.flat().map((ring) => ring.map(([longitude, latitude]) => [round(longitude), round(latitude)]));
