// Elements of a page, and a game's result in a few words.

export const $ = (id) => document.getElementById(id);

export function element(name, text, more = {}) {
  const made = document.createElement(name);
  Object.assign(made, { textContent: text, ...more });
  return made;
}

export const button = (text, action, more = {}) => {
  const made = element("button", text, more);
  made.addEventListener("click", action);
  return made;
};

export const figures = ({ outcome, metres, seconds }) => (
  outcome === "finished" ? `${seconds.toFixed(2)} s` : `${metres.toFixed(1)} m in ${seconds.toFixed(2)} s`
);
