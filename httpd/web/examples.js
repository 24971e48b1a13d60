// Shows how programs send with a new key: lines to paste, with that key in them. tests/clients runs
// them.

// The address to which programs send. A server that listens on all interfaces is reached by the
// name in the page's own address.
export function apiUrl(host) {
  const url = new URL(host.api_url);
  if (["0.0.0.0", "[::]"].includes(url.hostname)) url.hostname = location.hostname;
  return url.href.replace(/\/$/, "");
}

// On loopback there may be no TLS.
function smtpExample({ smtp, token, from, to }) {
  const local = /^(127\.|\[::1\]|localhost)/.test(smtp.host);
  const tls = smtp.security === "tls";
  return [
    "SMTP",
    [
      [
        "Settings of a program that sends over SMTP",
        `Host: ${smtp.host}
Port: ${smtp.port}
Security: ${tls ? "TLS from the start" : "STARTTLS"}
User: ${smtp.user}
Password: ${token}`,
      ],
      [
        "In a shell",
        `curl --url ${tls ? "smtps" : "smtp"}://${smtp.host}:${smtp.port} ${tls || local ? "" : "--ssl-reqd "}\\
  --user "${smtp.user}:${token}" \\
  --mail-from ${from} --mail-rcpt ${to} -T - <<END
From: ${from}
To: ${to}
Subject: Hello

It works.
END`,
      ],
    ],
  ];
}

// Returns [client, [[title, text], ...]] for each client; for a key that may not send, requests by
// curl that it may make. smtp: where programs log in, if known.
export function examples({ url, token, domain, scopes, smtp }) {
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
    ...(smtp ? [smtpExample({ smtp, token, from, to })] : []),
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
