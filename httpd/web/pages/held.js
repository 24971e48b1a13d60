// Held mail: messages that the rules had Postfix hold, and the decisions about them.

import { get, path, post } from "../api.js";
import { subscribe } from "../live.js";
import { companies, searched } from "../tenant.js";
import { badge, button, code, count, danger, definitions, el, empty, header, link, notice, number, remark, section, time } from "../elements.js";
import { confirm, show as showBox } from "../forms.js";
import { choosing, list } from "../lists.js";
import { emailColumns, emailPlace } from "./emails.js";

export const title = "Held mail";

// The maximum time that the process with root's rights takes to carry out a decision.
const PATIENCE_MS = 10_000;

const decisions = {
  recheck: { text: "Check again", doing: "is checked again", done: "Being checked again:" },
  release: { text: "Release", doing: "is released", done: "Released:" },
  drop: { text: "Drop", doing: "is dropped", done: "Dropped:" },
};
const isLate = (row) => row.decision && Date.now() - new Date(row.decided_at) > PATIENCE_MS;

function stateOf(row) {
  if (isLate(row)) return badge("waits", { text: "not carried out yet", tone: "warn", title: "postern-held is not running" });
  if (row.decision) return badge(row.decision, { text: decisions[row.decision].doing, tone: "none" });
  return badge("held", { title: row.answer || undefined });
}

const size = (bytes) => (bytes < 1024 ? `${bytes} B` : bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`);
const toOf = ({ recipients }) =>
  recipients.length
    ? el("span.address", { title: recipients.join(", ") }, recipients[0], recipients.length > 1 && el("span.muted", ` +${recipients.length - 1}`))
    : null;

export async function show(main, { session, query }) {
  const mayDecide = session.owner;
  const known = await companies(session);

  async function decide(decision, messages) {
    const { decided, gone } = await post("/admin/held/decide", { decision, messages: messages.map(({ id }) => ({ id })) });
    notice(`${decisions[decision].done} ${count(decided, "message")}.${gone ? ` ${number(gone)} ${gone === 1 ? "was" : "were"} no longer held.` : ""}`);
    chosen.clear();
    await rows.refresh();
  }
  const which = (messages) => (messages.length === 1 ? "the message" : `${number(messages.length)} messages`);
  const release = (messages) =>
    confirm(
      `Release ${which(messages)}?`,
      "Postfix delivers what is released, without asking the rules. To let mail of this sender pass from now on as well, add an exemption.",
      "Release",
      () => decide("release", messages),
    );
  const drop = (messages) =>
    confirm(
      `Drop ${which(messages)}?`,
      "Postfix deletes it. Neither sender nor recipient is told. This cannot be undone.",
      "Drop",
      () => decide("drop", messages),
    );
  const actions = (messages) => [
    button(decisions.recheck.text, () => decide("recheck", messages)),
    button(messages.length > 1 ? `Release ${number(messages.length)}` : "Release", () => release(messages)),
    danger(messages.length > 1 ? `Drop ${number(messages.length)}` : "Drop", () => drop(messages)),
  ];

  async function look({ id }) {
    const held = await get(path`/admin/held/${id}`);
    return showBox(
      held.subject || "A message without a subject",
      definitions([
        ["Why it is held", held.reason_text],
        ["The rules said", held.answer],
        ["From", el("span.address", held.header_from || "no sender")],
        ["Envelope sender", el("span.address", held.sender || "none")],
        ["To", el("span.address", held.recipients.join(", ") || "not read yet")],
        ["Domain", held.domain],
        ["Held since", time(held.held_at)],
        ["Size", held.read_at ? size(held.size) : null],
        ["Queue id", el("code", held.queue_id)],
      ]),
      held.read_at
        ? code(held.header, { label: "Header" })
        : remark("warn", "Its content is not known yet, because postern-held is not running. Start it: systemctl start postern-held"),
    );
  }

  const chosen = choosing((all) => actions(all));
  const late = el("div");
  const rows = searched({
    caption: title,
    noun: "message",
    from: "/admin/held",
    query,
    known,
    placeholder: "Sender, subject, recipient, domain, queue id",
    changed: () => chosen.clear(),
    columns: [
      {
        title: "From",
        kind: "name",
        sort: (row) => row.header_from,
        cell: (row) =>
          el("span.picked", mayDecide && chosen.box(row, `the message of ${row.header_from || row.queue_id}`),
            el("span.address", row.header_from || row.sender || "no sender")),
      },
      {
        title: "Message",
        kind: "main",
        sort: (row) => row.subject,
        cell: (row) =>
          el("div", row.subject || el("span.muted", row.read_at ? "(no subject)" : "not read yet"),
            el("p.muted", { title: row.reason }, row.answer || row.reason_text)),
      },
      { title: "To", kind: "name", sort: (row) => row.recipients[0], cell: toOf },
      { title: "State", kind: "state", sort: (row) => row.decision, cell: stateOf },
      { title: "Since", kind: "time", sort: (row) => row.held_at, cell: (row) => time(row.held_at) },
      {
        title: "",
        kind: "actions",
        cell: (row) => [button("Show", () => look(row)), ...(mayDecide && !row.decision ? actions([row]) : [])],
      },
    ],
    empty: (isNarrowed) =>
      isNarrowed
        ? empty("No held message matches", "Change the search.")
        : empty("Nothing is held", "Mail that claims a registered domain, has no key and comes from this host is held here until somebody decides.", link("What the rules stopped", "refusals")),
  });

  const waiting = list({
    caption: "Emails waiting",
    noun: "email",
    isPart: true,
    load: async () => ({ ...(await get("/admin/emails", { status: "queued", limit: 10 })), has_more: false, next: null }),
    columns: emailColumns,
    href: emailPlace,
    empty: el("p.muted", "No email waits."),
  });
  waiting.element.classList.add("compact");

  main.append(
    header(title, {
      about: "Messages sent without a key that the rules stopped. Postfix holds each until you check it again (for example after adding an exemption), release it, or drop it.",
      words: ["held", "hold queue", "postern-milter"],
    }),
    late,
    rows.search,
    chosen.line,
    rows.element,
    section("Emails waiting", {
      about: "Emails sent with a key that Postfix does not have yet, or that postern-milter has not checked. They go out by themselves as soon as both work again.",
      actions: [link("All waiting emails", "emails", { status: "queued" }), link("The outbox", "outbox")],
    }, waiting.element),
  );

  function showLate() {
    const n = rows.rows().filter(isLate).length;
    late.replaceChildren(...(n ? [remark("bad", el("strong", "postern-held does not answer. "),
      `${count(n, "decision waits", "decisions wait")}; nothing is lost. Start it: systemctl start postern-held`)] : []));
  }
  await Promise.all([rows.reload(), waiting.reload()]);
  showLate();
  // Another process carries out the decision, a moment later.
  const timer = setInterval(() => {
    if (rows.rows().some((row) => row.decision || !row.read_at)) rows.refresh().then(showLate, () => {});
  }, 2000);
  const leave = subscribe(["refusals", "emails"], async () => {
    await Promise.all([rows.refresh(), waiting.refresh()]);
    showLate();
  }, 4000);
  return () => {
    clearInterval(timer);
    leave();
  };
}
