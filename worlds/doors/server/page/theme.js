// Runs before the first paint, so that a page in the dark never flashes white. A classic script for that reason.
try {
  const chosen = localStorage.getItem("worlds-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage can be forbidden; the system's theme is used then.
}
