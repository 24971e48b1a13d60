// The settings in force, and the health of the parts.

import { get } from "../api.js";
import { services } from "../labels.js";
import { matches } from "../tenant.js";
import { badge, button, code, definitions, el, empty, header, loading, remark, section, standalone, time, withTimes } from "../elements.js";
import { filters, show as showBox } from "../forms.js";
import { table } from "../lists.js";

export const title = "Settings";

const DAY_MS = 24 * 3600 * 1000;
const looks = { wrong: "bad", warning: "warn", unknown: "none", good: "good" };
const worst = Object.keys(looks);

// The findings of the last `postern doctor` that root ran, faults first.
function doctorOf({ looked_at: at, results }) {
  const again = el("p", "To check again, on the server: ", el("code", "sudo postern doctor"));
  if (!at) return [empty("No checks yet", "Run postern doctor on the server, as root."), again];
  const count = (word) => results.filter(({ result }) => result === word).length;
  const rows = results
    .filter(({ result }) => result !== "good")
    .sort((a, b) => worst.indexOf(a.result) - worst.indexOf(b.result));
  const grid = table({
    caption: "Findings",
    noun: "finding",
    exported: true,
    columns: [
      { title: "Result", kind: "state", cell: (one) => badge(one.result, { tone: looks[one.result] }) },
      {
        title: "Finding",
        kind: "main",
        cell: (one) => el("div", withTimes(one.text), one.means && el("p.muted.about", one.means)),
      },
      { title: "Fix", kind: "name", cell: (one) => one.mend && el("code.address", one.mend) },
    ],
    rows,
    empty: empty("No problems", "All checks passed."),
  });
  const old = Date.now() - new Date(at) > DAY_MS;
  return [
    el("p", { class: "muted" }, "Checked ", time(at), ": ",
      worst.map((word) => `${count(word)} ${word}`).join(", "), "."),
    old && remark("warn", "This is more than a day old. Check that postern-doctor.timer is active: systemctl enable --now postern-doctor.timer."),
    grid.element,
    again,
  ].filter(Boolean);
}

// The daemons that read a section, and have to be reloaded or restarted after a change.
const readers = {
  store: ["httpd", "milter", "events", "webhook", "auth"],
  log: ["httpd", "milter", "events", "webhook", "auth"],
  milter: ["milter"],
  auth: ["auth"],
  events: ["events"],
  suppression: ["events"],
  webhook: ["webhook"],
};

// Shows the lines to write, and the command that applies them.
function explain(one) {
  const units = (readers[one.section] ?? ["httpd"]).map((name) => `postern-${name}`).join(" ");
  return showBox(
    `${one.section}.${one.name}`,
    el("p", "Settings are changed on the server, by root. In ", el("code", "postern.conf"), ", or in a file of ", el("code", "postern.conf.d"), ":"),
    code(`[${one.section}]\n${one.name} = ${one.value || one.default}`, { label: "postern.conf" }),
    el("p", one.reload ? "A reload is enough:" : "This setting needs a restart:"),
    code(`sudo postern config >/dev/null && sudo systemctl ${one.reload ? "reload" : "restart"} ${units}`, { label: "In a shell" }),
    el("p.muted", "What it means: man postern.conf. Default: ", one.default === "" ? "empty" : el("code", one.default), "."),
  );
}

const healthOf = ({ parts }) =>
  definitions(
    parts.map((part) => [
      services[part.name] ?? part.name,
      el("div", badge(part.ok ? "ok" : "not_ok"), " ", withTimes(part.text),
        part.effect && el("p.muted", `What it means: ${part.effect}.`), part.cure && el("p.muted", `What to do: ${part.cure}.`)),
    ]),
  );

const serverOf = (host) =>
  definitions([
    ["Postern", host.version],
    ["Postfix", host.postfix_version ?? el("span.muted", "cannot be asked")],
    ["Name", host.name],
    ["Mail leaves through", host.relay],
    ["API address", el("code", host.api_url)],
    ["Over the socket", host.api_socket && el("code", host.api_socket)],
    [
      "For programs",
      el(
        "span",
        el("a", { href: "/admin/openapi.json" }, "the admin interface as OpenAPI"),
        ", ",
        el("a", { href: "/metrics" }, "metrics"),
      ),
    ],
  ]);

export async function show(main, { query }) {
  let all = [];
  const search = filters({
    query,
    fields: [
      { name: "search", label: "Search", type: "search", placeholder: "Name or value" },
      { name: "set", label: "Only settings set in postern.conf", type: "checkbox", value: query.get("set") },
    ],
    change: () => {
      grid.toStart();
      showAll();
    },
  });
  const grid = table({
    caption: "Settings",
    noun: "setting",
    exported: true,
    columns: [
      { title: "Setting", cell: (one) => el("code", `${one.section}.${one.name}`) },
      {
        title: "Value",
        kind: "main",
        cell: (one) => (one.value === "" ? el("span.muted", "empty") : el("code.address", one.value)),
      },
      {
        title: "From",
        kind: "state",
        cell: (one) => (one.is_default ? el("span.muted", "default") : "postern.conf"),
      },
      {
        title: "Default",
        kind: "extra",
        cell: (one) =>
          one.is_default ? null : one.default === "" ? el("span.muted", "empty") : el("code.address", one.default),
      },
      { title: "Change needs", kind: "extra", cell: (one) => (one.reload ? "reload" : "restart") },
      { title: "", kind: "actions", cell: (one) => button("How to change", () => explain(one)) },
    ],
    key: (one) => `${one.section}.${one.name}`,
    empty: empty("No setting matches", "Change the search."),
  });
  function showAll() {
    const { search: typed, set } = search.values();
    grid.set(all.filter(
      (one) => (!set || !one.is_default) && matches(typed, `${one.section}.${one.name}`, one.value),
    ));
  }

  const parts = [];
  function part(heading, options, from, show) {
    const box = el("div", loading());
    const element = section(heading, options, box);
    parts.push(standalone(heading, box, async () => box.replaceChildren(...[show(await get(from))].flat())));
    return element;
  }
  main.append(
    header(title, {
      about:
        "The settings in force. They are changed on the server, in postern.conf. This page shows how.",
    }),
    el("div.two", part("Health", {}, "/admin/health", healthOf), part("This server", {}, "/admin/host", serverOf)),
    part("What postern doctor found", {}, "/admin/doctor", doctorOf),
    part("Settings in force", { about: "man postern.conf explains each." }, "/admin/settings", ({ data }) => {
      all = data;
      showAll();
      return [search.element, grid.element];
    }),
  );
  await Promise.all(parts.map((show) => show()));
}
