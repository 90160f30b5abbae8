// What every view of the page must keep to; gives what does not. Contrast is that of WCAG 2, 1.4.3.
() => {
  const wrong = [];
  const seen = (node) => node.checkVisibility({opacityProperty: false, visibilityProperty: true});
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) wrong.push(`${root.scrollWidth - root.clientWidth} px too wide`);
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`the id ${id} twice`);
  for (const name of ["aria-controls", "aria-labelledby", "aria-describedby", "for"]) {
    for (const node of document.querySelectorAll(`[${name}]`)) {
      for (const id of node.getAttribute(name).split(" ")) if (!document.getElementById(id)) wrong.push(`${name} ${id} of nothing`);
    }
  }
  for (const node of document.querySelectorAll("button, a[href], input, select, textarea, summary, [role=img], dialog")) {
    const named = document.getElementById(node.getAttribute("aria-labelledby"))?.textContent;
    const name = node.getAttribute("aria-label") || named || node.labels?.[0]?.textContent || node.textContent || node.title;
    if (!name.trim()) wrong.push(`no name: ${node.outerHTML.slice(0, 90)}`);
    if (node.tabIndex < 0 && node.matches("button:not([role=tab]), input, select")) wrong.push(`out of reach: ${node.id}`);
  }
  for (const table of document.querySelectorAll("table")) if (!table.querySelector("th")) wrong.push("a table without heads");

  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const read = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = read(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return read(getComputedStyle(root).colorScheme.includes("dark") ? "black" : "white");
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !seen(node) || node.closest("svg, .unseen, .skip, option")) continue;
    const [a, b] = [light(read(getComputedStyle(node).color)), light(behind(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) wrong.push(`contrast ${contrast.toFixed(2)}: ${node.className} ${texts.currentNode.data.slice(0, 40)}`);
  }
  return [...new Set(wrong)];
}
