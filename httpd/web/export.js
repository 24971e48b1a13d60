// Saves a whole list as a file, CSV or JSON: all rows that match its filters, however many.
//
// The list is read page by page, so that the server can do other work in between, and assembled in
// pieces that the browser keeps on disk. list() in lists.js has the button.

import { count, el, notice, number } from "./elements.js";
import { form, modal } from "./forms.js";

const PAGE = 100; // of rows in an answer, the most that the server gives
const PIECE_BYTES = 1 << 20;

const textOf = (value) => {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

// CSV (RFC 4180). Spreadsheets run texts that begin like a formula, and senders of mail are
// strangers.
function csvField(value) {
  let text = textOf(value);
  if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Convert rows to pieces of the file. Its columns are those of the first rows; columns that only
// later rows have come after them.
const formats = {
  csv: {
    type: "text/csv",
    writer() {
      const columns = [];
      return {
        rows(all) {
          for (const row of all) for (const name of Object.keys(row)) if (!columns.includes(name)) columns.push(name);
          return all.map((row) => `${columns.map((name) => csvField(row[name])).join(",")}\r\n`).join("");
        },
        head: () => `${columns.map(csvField).join(",")}\r\n`,
        tail: () => "",
      };
    },
  },
  json: {
    type: "application/json",
    writer() {
      let isFirst = true;
      return {
        rows: (all) =>
          all
            .map((row) => {
              const before = isFirst ? "\n" : ",\n";
              isFirst = false;
              return before + JSON.stringify(row);
            })
            .join(""),
        head: () => "[",
        tail: () => "\n]\n",
      };
    },
  },
};

// Reads all pages and calls tell(rows, answer) after each. Returns null if it was stopped.
async function collect({ load, behind }, { writer, type }, isWanted, tell) {
  const write = writer();
  const pieces = [];
  let text = "";
  let rows = 0;
  let after;
  do {
    const answer = await load(after, PAGE);
    if (!isWanted()) return null;
    text += write.rows(answer.data);
    rows += answer.data.length;
    after = behind(answer);
    if (text.length > PIECE_BYTES || !after) {
      pieces.push(new Blob([text]));
      text = "";
    }
    tell(rows, answer);
  } while (after);
  return { rows, file: new Blob([write.head(), ...pieces, write.tail()], { type }) };
}

function save(file, name) {
  const href = URL.createObjectURL(file);
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
}

// load(after, limit) returns a page as list routes do; behind(answer) is the cursor of the next
// page.
export async function exportList({ caption, load, behind }) {
  let isWanted = true;
  const progress = el("p.muted", { role: "status" });
  const tell = (rows, { data, looked, looked_until }) => {
    const at = (data.at(-1)?.created_at ?? data.at(-1)?.recorded_at ?? looked_until)?.slice(0, 10);
    progress.textContent =
      `${number(rows)} rows${at ? `, back to ${at}` : ""}${looked ? `, ${looked.percent} % searched` : ""} …`;
  };
  const { closed } = modal("dialog", `Export: ${caption}`, (close) => [
    el("p", "The whole list, as its filters are set now, in a file."),
    form({
      fields: [
        {
          name: "format",
          label: "Format",
          type: "choice",
          options: [
            { value: "csv", text: "CSV", help: "For spreadsheets. A text that begins like a formula gets a ' in front." },
            { value: "json", text: "JSON", help: "For programs: the rows as the admin interface gives them." },
          ],
        },
      ],
      submit: "Export",
      cancel: close,
      run: async ({ format }) => {
        const made = await collect({ load, behind }, formats[format], () => isWanted, tell);
        if (!made) return;
        const name = `${caption.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.${format}`;
        save(made.file, name);
        notice(`Saved ${count(made.rows, "row")} as ${name}.`);
        close();
      },
    }),
    progress,
  ]);
  await closed;
  isWanted = false;
}
