// Styles that belong to one place, loaded with it.

const loaded = new Set();

/** Load places/NAME.css, once. */
export function style(name) {
  if (loaded.has(name)) return;
  loaded.add(name);
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = `/timbre/assets/places/${name}.css`;
  document.head.append(link);
}
