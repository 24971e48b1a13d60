// How programs send with a new key: the lines to paste, with that key in them.
// tests/clients runs them.

// Where programs send to. Who listens everywhere is reached by the name by which
// the page was.
export function apiUrl(host) {
  const url = new URL(host.api_url);
  if (["0.0.0.0", "[::]"].includes(url.hostname)) url.hostname = location.hostname;
  return url.href.replace(/\/$/, "");
}

// [client, [[what it is, text], ...]] for each client; for a key that may not send
// what it may do, by curl.
export function examples({ url, token, domain, scopes }) {
  const from = `hello@${domain}`;
  const to = "you@example.net";
  const sends = scopes.includes("sending");
  const all = [
    [
      "curl",
      sends
        ? [
            [
              "In a shell",
              `curl -H "Authorization: Bearer ${token}" \\
  -H "Content-Type: application/json" \\
  ${url}/emails -d '
  {"from":"${from}","to":"${to}",
   "subject":"Hello","text":"It works."}'`,
            ],
          ]
        : [["In a shell", `curl -H "Authorization: Bearer ${token}" ${url}/${scopes.includes("reading") ? "emails" : "domains"}`]],
    ],
    [
      "Resend, Node",
      [
        ["Environment", `RESEND_BASE_URL=${url}\nRESEND_API_KEY=${token}`],
        [
          "Program",
          `import { Resend } from "resend"; // npm install resend

const resend = new Resend();
const { data, error } = await resend.emails.send({
  from: "${from}",
  to: "${to}",
  subject: "Hello",
  text: "It works.",
});
console.log(error ?? data);`,
        ],
      ],
    ],
    [
      "Resend, Python",
      [
        [
          "Program",
          `import resend  # pip install resend

resend.api_url = "${url}"
resend.api_key = "${token}"
print(resend.Emails.send({
    "from": "${from}",
    "to": "${to}",
    "subject": "Hello",
    "text": "It works.",
}))`,
        ],
      ],
    ],
    [
      "mailgun.js",
      [
        [
          "Program",
          `import FormData from "form-data"; // npm install mailgun.js form-data
import Mailgun from "mailgun.js";

const mailgun = new Mailgun(FormData).client({
  username: "api",
  key: "${token}",
  url: "${url}",
});
console.log(await mailgun.messages.create("${domain}", {
  from: "${from}",
  to: "${to}",
  subject: "Hello",
  text: "It works.",
}));`,
        ],
      ],
    ],
    [
      "Mailgun, Python",
      [
        [
          "Program",
          `import requests  # pip install requests

answer = requests.post(
    "${url}/v3/${domain}/messages",
    auth=("api", "${token}"),
    data={
        "from": "${from}",
        "to": "${to}",
        "subject": "Hello",
        "text": "It works.",
    },
    timeout=60,
)
print(answer.status_code, answer.json())`,
        ],
      ],
    ],
    [
      "Ghost",
      [
        [
          "config.production.json: newsletters, and what became of them",
          `"bulkEmail": {
  "mailgun": {
    "baseUrl": "${url}/v3",
    "apiKey": "${token}",
    "domain": "${domain}"
  }
}`,
        ],
      ],
    ],
  ];
  return sends ? all : all.slice(0, 1);
}
