// What every view of the page must keep to beside the rules of axe-core; gives what does not.
() => {
  const wrong = [];
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
  for (const node of document.querySelectorAll("button:not([role=tab]), input, select")) if (node.tabIndex < 0) wrong.push(`out of reach: ${node.id}`);
  return [...new Set(wrong)];
}
