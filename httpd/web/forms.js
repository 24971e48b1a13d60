// Forms, dialogs, and the filters of lists.
//
//   form({ fields, submit, run })                     shows errors at its fields
//   dialog({ title, fields, submit, run })            a form over the page
//   filters({ fields, query, change })                values that are in the address

import { target } from "./api.js";
import { combo } from "./combo.js";
import { button, el } from "./elements.js";

let fields_n = 0;

// A field: { name, label, type, value, required, help, placeholder, autocomplete, options, when }
//   type: "text" (the default), "email", "password", "search", "number", "textarea", "checkbox",
//   "select" and "choice" (radio buttons) with options, "checks" (an array of values), "pick" (one of
//   many, see combo.js)
//   options: texts, or { value, text, help }
//   when: (values) => true if the field is shown
function field(spec) {
  const { name, label, type = "text", value, required, help } = spec;
  const id = `f${++fields_n}-${name}`;
  const options = (spec.options ?? []).map((o) => (typeof o === "string" ? { value: o, text: o } : o));
  // The address may name an option that no longer exists. That differs from choosing none.
  if (type === "select" && value && !options.some((o) => o.value === value)) options.push({ value, text: value });
  const hint = help && el("div.form-text", { id: `${id}-help` }, help);
  const wrong = el("div.wrong", { id: `${id}-wrong`, hidden: true });
  const common = {
    id,
    name,
    required,
    placeholder: spec.placeholder,
    autocomplete: spec.autocomplete ?? "off",
    autocapitalize: "none",
    spellcheck: type === "textarea" ? null : "false",
    "aria-describedby": [hint?.id, wrong.id].filter(Boolean).join(" "),
  };
  const several = ["choice", "checks"].includes(type);
  let control;
  let read;
  let picked;
  if (type === "pick") {
    picked = combo(spec, common);
    ({ control, read } = picked);
  } else if (type === "select") {
    control = el("select.form-select.form-select-sm", common, options.map((o) => el("option", { value: o.value }, o.text)));
    if (value !== undefined) control.value = value;
    read = () => control.value || undefined;
  } else if (type === "textarea") {
    control = el("textarea.form-control.form-control-sm", { ...common, rows: spec.rows ?? 4, value: value ?? "" });
    read = () => control.value || undefined;
  } else if (type === "checkbox") {
    control = el("input.form-check-input", { ...common, type, checked: Boolean(value) });
    read = () => control.checked;
  } else if (several) {
    const chosen = [value ?? (type === "choice" ? options[0].value : [])].flat();
    control = el(
      "div.choices",
      options.map((o, i) => {
        const own = `${id}-${i}`;
        const text = el("span", { id: `${own}-text` }, o.text);
        const help = o.help && el("span.form-text", { id: `${own}-help` }, o.help);
        const input = el("input.form-check-input", {
          type: type === "choice" ? "radio" : "checkbox",
          id: own,
          name,
          value: o.value,
          checked: chosen.includes(o.value),
          // A click on the help also selects the option, but the help is not part of its name.
          "aria-labelledby": text.id,
          "aria-describedby": help?.id,
        });
        return el("div.choice", input, el("label", { for: own }, text, help));
      }),
    );
    const values = () => [...control.querySelectorAll(":checked")].map((input) => input.value);
    read = () => (type === "choice" ? values()[0] : values());
  } else {
    control = el("input.form-control.form-control-sm", {
      ...common,
      type,
      value: value ?? "",
      min: spec.min,
      max: spec.max,
      maxlength: spec.maxlength,
      inputmode: spec.inputmode,
    });
    read = () => {
      if (control.value === "") return undefined;
      if (type === "number") return Number(control.value);
      return type === "password" ? control.value : control.value.trim();
    };
  }
  const title = several ? el("legend.form-label", label) : el("label.form-label", { for: id }, label);
  const element =
    type === "checkbox"
      ? el("div.field.check", control, el("label", { for: id }, label), hint, wrong)
      : el(several ? "fieldset.field" : "div.field", title, control, hint, wrong);
  function complain(text) {
    wrong.textContent = text ?? "";
    wrong.hidden = !text;
    const input = several || picked ? control.querySelector("input") : control;
    input.classList.toggle("is-invalid", Boolean(text));
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (text) input.focus();
  }
  const typed = !["select", "checkbox", "choice", "checks", "pick"].includes(type);
  return { name, element, read, complain, typed, when: spec.when, sync: picked?.sync, settle: picked?.settle };
}

// A form whose run(values) may throw. The error is shown at the field that it names in `backticks`
// or has as its `field`; an error about the input without a name, at the only text field; any
// other, above the buttons. A field that run() or a change has made visible gets the focus. Empty
// values are undefined.
export function form({ fields = [], submit = "Save", tone = "primary", run, cancel, dismiss = "Cancel" }) {
  const all = fields.map(field);
  const wrong = el("div.remark.tone-bad", { role: "alert", hidden: true });
  const go = el(`button.btn.btn-sm.btn-${tone}`, { type: "submit" }, submit);
  const values = () =>
    Object.fromEntries(all.filter((f) => !f.element.hidden).map((f) => [f.name, f.read()]));
  const show = () => {
    const now = Object.fromEntries(all.map((f) => [f.name, f.read()]));
    for (const f of all) {
      if (f.when) f.element.hidden = !f.when(now);
      f.sync?.(now);
    }
  };
  // Called after run(), which may have found that another field is needed.
  const askMore = () => {
    const before = all.filter((f) => f.element.hidden);
    show();
    before.find((f) => !f.element.hidden)?.element.querySelector("input, select, textarea")?.focus();
  };

  function complain(error) {
    show();
    const asked = all.filter((f) => !f.element.hidden);
    const typed = asked.filter((f) => f.typed);
    const named =
      asked.find((f) => f.name === error.field || error.message.includes("`" + f.name + "`")) ??
      ([409, 422].includes(error.status) && typed.length === 1 ? typed[0] : undefined);
    if (named) return named.complain(error.message.replaceAll("`", ""));
    wrong.textContent = error.message;
    wrong.hidden = false;
  }

  async function onsubmit(event) {
    event.preventDefault();
    wrong.hidden = true;
    for (const f of all) f.complain(null);
    go.disabled = true;
    try {
      for (const f of all) if (!f.element.hidden) await f.settle?.();
      await run(values());
      askMore();
    } catch (error) {
      complain(error);
    } finally {
      go.disabled = false;
    }
  }

  // A hidden field must not keep the form from being sent.
  const node = el(
    "form.form",
    { onsubmit, oninput: show, novalidate: all.some((f) => f.when) },
    all.map((f) => f.element),
    wrong,
    el("div.form-buttons", go, cancel && button(dismiss, cancel)),
  );
  show();
  return node;
}

// A box over the page with the content of inside(close); `closed` resolves when it is closed.
export function modal(kind, title, inside) {
  const heading = el("h2", { id: `d${++fields_n}` }, title);
  const close = () => box.close();
  const cross = el("button.close", { type: "button", "aria-label": "Close", onclick: close }, "×");
  const box = el(kind, { "aria-labelledby": heading.id }, el("div.dialog-head", heading, cross), inside(close));
  const closed = new Promise((resolve) => box.addEventListener("close", resolve)).then(() => {
    const notices = box.querySelector("#notices");
    for (const node of notices?.children ?? []) delete node.dataset.until;
    if (notices) document.body.append(notices);
    box.remove();
  });
  document.body.append(box);
  box.showModal();
  return { box, closed };
}

// Opens a form. Resolves with the result of run(), or true if that is undefined, after done() was
// called with it; with undefined if the user cancels. If run() returns false, the form stays open.
// Without fields it is a question. tone "danger" is for what cannot be undone. covers: the page
// behind it is not visible. dismiss: the text of the button that does nothing, where "Cancel" would
// be ambiguous.
export async function dialog({
  title,
  text,
  fields,
  submit = "OK",
  tone = "primary",
  covers = false,
  dismiss,
  run = () => true,
  done = () => {},
}) {
  let result;
  const { box, closed } = modal(covers ? "dialog.covers" : "dialog", title, (close) => [
    [text ?? []].flat().map((one) => (typeof one === "string" ? el("p", one) : one)),
    form({
      fields,
      submit,
      tone,
      dismiss,
      cancel: close,
      run: async (values) => {
        const made = await run(values);
        if (made === false) return;
        result = made || true;
        close();
      },
    }),
  ]);
  // The Return key must not trigger what cannot be undone.
  const first = tone === "danger" ? ".form-buttons button[type=button]" : "button[type=submit]";
  const asked = box.querySelector("input, select, textarea");
  // In a choice, the selected option gets the focus.
  const at = asked?.type === "radio" ? box.querySelector("input:checked") : asked;
  (at ?? box.querySelector(first))?.focus();
  await closed;
  if (result) await done(result);
  return result;
}

export const confirm = (title, text, submit, run, done, dismiss) =>
  dialog({ title, text, submit, tone: "danger", run, done, dismiss });

// Shows a box without a question; resolves when it is closed.
export const show = (title, ...children) =>
  modal("dialog.wide", title, (close) => [
    el("div.dialog-body", children),
    el("div.form-buttons", el("button.btn.btn-sm.btn-primary", { type: "button", onclick: close }, "Done")),
  ]).closed;

// Saved views: names for values of a page's filters. The browser keeps them.
const VIEWS = "postern.views";
function keptViews() {
  try {
    return JSON.parse(localStorage.getItem(VIEWS)) ?? {};
  } catch {
    return {};
  }
}

// The saved views of this page as links, and a button that saves the current filters, if there are
// any.
function viewsOf(isNarrowed) {
  const page = location.hash.split("?")[0];
  const line = el("div.views");
  const keep = (change) => {
    const all = keptViews();
    all[page] = change(all[page] ?? []);
    localStorage.setItem(VIEWS, JSON.stringify(all));
    draw();
  };
  const add = () =>
    dialog({
      title: "Save this view",
      text: "It keeps the filters as they are now, in this browser. To share a view, send its address.",
      fields: [{ name: "name", label: "Name", required: true, maxlength: 60 }],
      submit: "Save view",
      run: ({ name }) => keep((views) => [...views.filter((one) => one.name !== name), { name, address: location.hash }]),
    });
  function draw() {
    const views = keptViews()[page] ?? [];
    line.replaceChildren(
      ...views.map(({ name, address }) =>
        el("span.view", { "aria-current": address === location.hash ? "true" : null }, el("a", { href: address }, name),
          el("button.close", {
            type: "button",
            "aria-label": `Forget the view ${name}`,
            onclick: () => keep((all) => all.filter((one) => one.name !== name)),
          }, "×"))),
      ...(isNarrowed() && !views.some(({ address }) => address === location.hash)
        ? [el("button.as-link", { type: "button", onclick: add }, "Save view")]
        : []),
    );
  }
  draw();
  return { line, draw };
}

// The filters of a list. Their values are in the address, so that it can be bookmarked and shared.
// change(values) is called on each change, but not initially.
export function filters({ fields, query, change }) {
  const all = fields.map((spec) => field({ ...spec, value: query.get(spec.name) ?? spec.value }));
  const given = () => Object.fromEntries(all.map((f) => [f.name, f.read()]));
  const sync = () => all.forEach((f) => f.sync?.(given()));
  sync();
  const views = viewsOf(() => Object.values(given()).some(Boolean));
  let timer;
  function changed() {
    clearTimeout(timer);
    // The user has left the page, so the address belongs to another one.
    if (!node.isConnected) return;
    sync();
    history.replaceState(history.state, "", target(location.hash.split("?")[0], given()));
    views.draw();
    change(given());
  }
  const node = el(
    "form.filters",
    {
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        changed();
      },
      oninput: (event) => {
        clearTimeout(timer);
        timer = setTimeout(changed, event.target.matches("select, [type=checkbox], .combo") ? 0 : 250);
      },
    },
    all.map((f) => f.element),
    views.line,
  );
  // The page that the user left stays visible until the next one has content.
  addEventListener("hashchange", () => clearTimeout(timer), { once: true });
  return { element: node, values: given };
}
