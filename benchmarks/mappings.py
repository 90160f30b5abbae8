"""Mappings proposed for tables that others made, those of the package vega_datasets, and the gold of each column.

    pip download --no-deps vega_datasets && unzip vega_datasets-*.whl -d FOLDER
    python -m benchmarks.mappings FOLDER/vega_datasets/_data

A column is right if its predicate bears its name, and datatype, format, unit and key are the gold.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import worlds
from benchmarks.common import environment, table

GOLD = {  # column: datatype; * is the key of the rows, text is no datatype, (unit)
    "airports.csv": "iata*:text name:text city:text state:text country:text latitude:decimal longitude:decimal",
    "anscombe.json": "Series:text X:decimal Y:decimal",
    "barley.json": "yield:decimal variety:text year:gYear site:text",
    "burtin.json": "Bacteria*:text Penicillin:decimal Streptomycin:decimal Neomycin:decimal Gram_Staining:text "
    "Genus:text",
    "cars.json": "Name:text Miles_per_Gallon:decimal Cylinders:integer Displacement:decimal Horsepower:integer "
    "Weight_in_lbs:integer(lbs) Acceleration:decimal Year:date Origin:text",
    "crimea.json": "date*:date wounds:integer other:integer disease:integer",
    "driving.json": "side:text year:gYear miles:integer gas:decimal",
    "iowa-electricity.csv": "year:date source:text net_generation:integer",
    "iris.json": "sepalLength:decimal sepalWidth:decimal petalLength:decimal petalWidth:decimal species:text",
    "la-riots.csv": "first_name:text last_name:text age:integer gender:text race:text death_date:date address:text "
    "neighborhood:text type:text longitude:decimal latitude:decimal",
    "ohlc.json": "date*:date open:decimal high:decimal low:decimal close:decimal signal:text ret:decimal",
    "seattle-temps.csv": "date*:dateTime temp:decimal",
    "seattle-weather.csv": "date*:date precipitation:decimal temp_max:decimal temp_min:decimal wind:decimal "
    "weather:text",
    "sf-temps.csv": "temp:decimal date:dateTime",
    "stocks.csv": "symbol:text date:date price:decimal",
    "us-employment.csv": "month*:date nonfarm:integer private:integer goods_producing:integer "
    "service_providing:integer "
    "private_service_providing:integer mining_and_logging:integer construction:integer manufacturing:integer "
    "durable_goods:integer nondurable_goods:integer trade_transportation_utilties:integer wholesale_trade:decimal "
    "retail_trade:decimal transportation_and_warehousing:decimal utilities:decimal information:integer "
    "financial_activities:integer professional_and_business_services:integer education_and_health_services:integer "
    "leisure_and_hospitality:integer other_services:integer government:integer nonfarm_change:integer",
    "wheat.json": "year*:gYear wheat:decimal wages:decimal",
}


def _told(column: dict[str, Any], about: str) -> str:
    """A proposed column in the words of the gold."""
    datatype = column.get("datatype", "text")
    base = datatype["base"] if isinstance(datatype, dict) else datatype
    unit = f"({column['worlds:unit']})" if "worlds:unit" in column else ""
    return f"{column['titles']}{'*' if '{' + column['name'] + '}' in about else ''}:{base}{unit}"


def main() -> None:
    """Print the share of columns that are right, and those that are not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    environment()
    rows, right, count = [], 0, 0
    with tempfile.TemporaryDirectory() as place, worlds.open(embedder=None) as world:
        for name, gold in GOLD.items():
            file = Path(place, name.replace(".json", ".jsonl"))
            text = (folder / name).read_text("utf-8")
            file.write_text("\n".join(map(json.dumps, json.loads(text))) if name.endswith(".json") else text, "utf-8")
            (mapping,) = world.sources.mappings(file, base="https://example.org/")
            schema = mapping["tableSchema"]
            found = {_told(one, schema["aboutUrl"]) for one in schema["columns"] if not one.get("virtual")}
            wanted = set(gold.split())
            count, right = count + len(wanted), right + len(wanted & found)
            rows.append((name, len(wanted), len(wanted & found), " ".join(sorted(found - wanted))))
    title = f"{right} of {count} columns have the gold: {right / count:.3f}"
    table(title, ("table", "columns", "right", "what was proposed for the others"), rows)


if __name__ == "__main__":
    main()
