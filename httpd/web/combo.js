// A choice among many options: the user types a part of the name, and the server finds what matches
// (WAI-ARIA: combobox with a list). form() and filters() create it for a field of type "pick":
//
//   { name, label, type: "pick", find, optionOf, any, of }
//   find: async (words, values) => ({ options: [{ value, text, about }], isMore }); values are
//   those of the other fields, about names the owner
//   optionOf: async (value) => the option of a value that was chosen before; without it the value
//   is the text
//   any: the text for choosing none
//   of: (values) => the owner of the options: when it changes, the choice is cleared

import { el } from "./elements.js";

const TYPING_MS = 150;

export function combo(spec, common) {
  let value = spec.value || undefined;
  let text = value ?? "";
  let owner;
  let turn = 0;
  let timer;
  let options = [];
  let at = -1;
  let values = () => ({});
  const list = el("ul.combo-list", { id: `${common.id}-list`, role: "listbox", "aria-label": `Choices: ${spec.label}`, hidden: true });
  const input = el("input.form-select.form-select-sm", {
    ...common,
    type: "text",
    role: "combobox",
    placeholder: spec.any ?? spec.placeholder ?? "Type a part of the name",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": list.id,
    value: text,
  });
  // Several options may have the same name.
  const whose = el("div.form-text.combo-whose", { hidden: true });
  const control = el("div.combo", input, list, whose);
  if (value && spec.optionOf)
    spec.optionOf(value).then((found) => {
      if (input.value === text) input.value = found.text;
      text = found.text;
      tellWhose(found.about);
    }, () => {});

  function tellWhose(about) {
    whose.textContent = about ?? "";
    whose.hidden = !about;
  }

  function close() {
    turn++;
    clearTimeout(timer);
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    at = -1;
  }

  function choose(option) {
    close();
    value = option.value || undefined;
    text = value ? option.text : "";
    input.value = text;
    tellWhose(option.about);
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function mark(i) {
    at = i;
    [...list.querySelectorAll("[role=option]")].forEach((node, n) => {
      node.setAttribute("aria-selected", n === i);
      if (n === i) node.scrollIntoView({ block: "nearest" });
    });
    if (i >= 0) input.setAttribute("aria-activedescendant", `${list.id}-${i}`);
    else input.removeAttribute("aria-activedescendant");
  }

  function show({ options: found, isMore }, words) {
    options = spec.any && !words ? [{ value: "", text: spec.any }, ...found] : found;
    list.replaceChildren(
      ...options.map((one, i) =>
        el("li", {
          id: `${list.id}-${i}`,
          role: "option",
          "aria-selected": "false",
          onpointerdown: (event) => {
            event.preventDefault();
            choose(one);
          },
        }, el("span", one.text), one.about && el("span.muted", one.about))),
      ...(isMore ? [el("li.muted.combo-note", { role: "presentation" }, "There are more: type a part of the name.")] : []),
      ...(options.length ? [] : [el("li.muted.combo-note", { role: "presentation" }, "No match.")]),
    );
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(words && options.length ? 0 : -1);
  }

  async function open(words) {
    const mine = ++turn;
    try {
      const found = await spec.find(words, values());
      if (mine === turn) show(found, words);
    } catch {
      if (mine === turn) show({ options: [], isMore: false }, words);
    }
  }

  input.addEventListener("input", (event) => {
    event.stopPropagation();
    input.classList.remove("is-invalid");
    input.removeAttribute("title");
    clearTimeout(timer);
    timer = setTimeout(() => open(input.value.trim()), TYPING_MS);
  });
  const openAll = () => {
    if (list.hidden) open("");
    input.select();
  };
  input.addEventListener("click", openAll);
  input.addEventListener("keydown", (event) => {
    const isOpen = !list.hidden;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !isOpen) open("");
    else if (step) mark((at + step + options.length) % options.length);
    else if (event.key === "Enter" && isOpen && at >= 0) choose(options[at]);
    else if (event.key === "Escape" && isOpen) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // Text that was typed but not chosen is resolved when the field loses the focus, or the form is
  // sent.
  async function settle() {
    const typed = input.value.trim();
    if (typed === text) return;
    if (!typed) return choose({ value: "" });
    const mine = ++turn;
    const { options: all } = await spec.find(typed, values());
    if (mine !== turn || input.value.trim() !== typed) return;
    const same = all.filter((one) => one.text.toLowerCase() === typed.toLowerCase());
    if (same.length === 1 || all.length === 1) return choose(same[0] ?? all[0]);
    throw Object.assign(
      new Error(all.length ? `Several match “${typed}”. Choose one from the list.` : `Nothing is called “${typed}”.`),
      { field: spec.name },
    );
  }
  input.addEventListener("blur", () => {
    close();
    settle().catch(({ message }) => {
      input.classList.add("is-invalid");
      input.title = message;
    });
  });

  return {
    control,
    input,
    // While other text is typed, nothing is chosen.
    read: () => (input.value.trim() === text ? value : undefined),
    settle,
    // The values of the other fields of the form; called again when one of them has changed.
    sync(now) {
      values = () => now;
      const mine = spec.of?.(now);
      if (owner !== undefined && owner !== mine) {
        value = undefined;
        text = input.value = "";
        tellWhose();
      }
      owner = mine;
    },
  };
}
