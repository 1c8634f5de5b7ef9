// Elements of a page, and a game's result in a few words.

export const $ = (id) => document.getElementById(id);

export function element(name, text, more = {}) {
  const made = document.createElement(name);
  Object.assign(made, { textContent: text, ...more });
  return made;
}

// A button. A key that ends its text, as in "Run again (R)", is hidden where fingers play.
export const button = (text, action, more = {}) => {
  const [, said, key] = text.match(/^(.*?)( \((?:Backspace|Esc|[A-Z])\))?$/s);
  const made = element("button", said, more);
  if (key) made.append(element("span", key, { className: "key" }));
  made.addEventListener("click", action);
  return made;
};

// The number of a recorded game for people, who count from 1, by the name of its episode; files count from 0.
export const numberOf = (name) => Number(name.split("-")[1]) + 1;

export const figures = ({ outcome, metres, seconds }) => (
  outcome === "finished" ? `${seconds.toFixed(2)} s` : `${metres.toFixed(1)} m in ${seconds.toFixed(2)} s`
);
