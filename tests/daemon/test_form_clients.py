"""The form dialect: curl and Python's requests, used as people use them."""

import json
import subprocess

import pytest
import requests
from harness.form import uuid_of
from harness.sandbox import unique

FILES = {
    "text.txt": b"one\ntwo\r\nthree",
    "every byte.bin": bytes(range(256)) * 40,
    "empty.dat": b"",
    "Grüße.txt": "Grüße".encode(),
    'quo"te.txt': b"q",
    "back\\slash.txt": b"b",
    "comma,semi;colon.txt": b"c",
}


@pytest.fixture
def folder(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


class Curl:
    """Runs curl with a route and the key; its answer must be an email's id."""

    def __init__(self, form, folder):
        self.form = form
        self.folder = folder

    def run(self, *words, path="messages", stdin=None):
        url = f"{self.form.httpd.url}/v3/example.com/{path}"
        done = subprocess.run(
            ["curl", "-sS", "--user", f"api:{self.form.httpd.key}", *words, url],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def send(self, *words, **options):
        answer = json.loads(self.run(*words, **options))
        assert answer["message"] == "Queued. Thank you."
        return answer["id"]

    def deliver(self, *words, **options):
        return self.form.box.sink.find(message_id=self.send(*words, **options))


@pytest.fixture
def curl(form, folder):
    return Curl(form, folder)


@pytest.fixture
def basics(to):
    """The options for the smallest form."""
    return ["-F", "from=Ann <hello@example.com>", "-F", f"to={to}", "-F", "text=Hello"]


def check_files(mail, *names):
    assert mail.body("plain") == "Hello\n"
    assert [(a[0], a[3]) for a in mail.attachments()] == [
        (name, FILES[name]) for name in names
    ]


def test_curl_multipart(curl, to):
    other = unique("to") + "@dst.test"
    message_id = curl.send(
        "-F", "from=Ann Müß <hello@example.com>",
        "-F", f"to={to}", "-F", f"to=Bob <{other}>",
        "-F", "subject=Grüße 👋",
        "-F", "text=Hällo",
        "--form-string", "html=<p>Hällo; type=x</p>",
        "-F", "h:Reply-To=help@example.net",
        "-F", "o:tag=a", "-F", "o:tag=b",
        "-F", "v:x=y",
    )
    mail = curl.form.box.sink.find(message_id=message_id)
    assert mail.addresses("From") == [("Ann Müß", "hello@example.com")]
    assert mail.addresses("To") == [("", to), ("Bob", other)]
    assert mail.addresses("Reply-To") == [("", "help@example.net")]
    assert mail.header("Subject") == "Grüße 👋"
    assert mail.body("plain") == "Hällo\n"
    assert mail.body("html") == "<p>Hällo; type=x</p>\n"
    seen = curl.form.httpd.read(uuid_of(message_id))
    assert (seen["subject"], seen["to"]) == ("Grüße 👋", [to, other])


@pytest.mark.parametrize("option", ["-d", "--data-urlencode"])
def test_curl_urlencoded(curl, to, option):
    mail = curl.deliver(
        option, "from=hello@example.com", option, f"to={to}", option, "text=Hello you"
    )
    assert mail.recipients == [to]
    assert mail.body("plain") == "Hello you\n"


def test_curl_text_from_a_file(curl, to):
    """As `<` sends it: a text, not a file."""
    mail = curl.deliver(
        "-F", "from=hello@example.com", "-F", f"to={to}", "-F", "text=<text.txt"
    )
    assert mail.body("plain") == "one\ntwo\nthree\n"
    assert mail.attachments() == []


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("escape", [[], ["--form-escape"]], ids=["percent", "escape"])
def test_curl_file(curl, basics, name, escape):
    """--form-escape has backslashes in names in place of percent signs."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    (curl.folder / "content").write_bytes(FILES[name])
    mail = curl.deliver(
        *escape, *basics, "-F", f'attachment=@content;filename="{quoted}"'
    )
    if "\\" in name:
        # What stands before a backslash is a path, on Windows.
        ((found, _, _, data),) = mail.attachments()
        assert (found, data) == (name.split("\\")[-1], FILES[name])
    else:
        check_files(mail, name)


def test_curl_file_as_it_is_named(curl, basics):
    mail = curl.deliver(*basics, "-F", "attachment=@every byte.bin")
    check_files(mail, "every byte.bin")


def test_curl_several_files(curl, basics):
    """Each in a field of its own, and in one field: nested multipart/mixed."""
    names = ["text.txt", "every byte.bin", "empty.dat", "Grüße.txt"]
    words = [w for name in names for w in ("-F", f"attachment=@{name}")]
    check_files(curl.deliver(*basics, *words), *names)
    mail = curl.deliver(*basics, "-F", "attachment=@" + ",".join(names))
    check_files(mail, *names)


@pytest.mark.parametrize("encoder", ["base64", "binary", "8bit"])
@pytest.mark.parametrize("name", ["every byte.bin", "text.txt", "empty.dat"])
def test_curl_encoder(curl, basics, encoder, name):
    mail = curl.deliver(*basics, "-F", f"attachment=@{name};encoder={encoder}")
    check_files(mail, name)


def test_curl_encoded_text(curl, to):
    mail = curl.deliver(
        "-F", "from=hello@example.com", "-F", f"to={to};encoder=base64",
        "-F", "text=Hällo = 1;encoder=quoted-printable",
    )
    assert mail.recipients == [to]
    assert mail.body("plain") == "Hällo = 1\n"


def test_curl_type_and_headers(curl, basics):
    mail = curl.deliver(
        *basics,
        "-F", 'attachment=@text.txt;type=text/x-test;filename=a.x;headers="X-A: 1"',
    )
    assert mail.attachments() == [
        ("a.x", "text/x-test", "attachment", FILES["text.txt"])
    ]


def test_curl_inline(curl, basics):
    mail = curl.deliver(
        *basics, "--form-string", 'html=<img src="cid:a.png">',
        "-F", "inline=@text.txt;filename=a.png",
    )
    (part,) = [p for p in mail.message.walk() if p.get_filename()]
    assert part["Content-ID"] == "<a.png>"
    assert part.get_payload(decode=True) == FILES["text.txt"]


def test_curl_chunked(curl, basics):
    mail = curl.deliver(
        *basics, "-H", "Transfer-Encoding: chunked", "-F", "attachment=@every byte.bin"
    )
    check_files(mail, "every byte.bin")


@pytest.mark.parametrize("version", ["--http1.0", "--http1.1"])
@pytest.mark.parametrize("expect", ["Expect: 100-continue", "Expect:"])
def test_curl_expect(curl, basics, version, expect):
    (curl.folder / "large").write_bytes(bytes(range(256)) * 8000)
    mail = curl.deliver(*basics, version, "-H", expect, "-F", "attachment=@large")
    ((_, _, _, data),) = mail.attachments()
    assert data == bytes(range(256)) * 8000


def test_curl_from_a_pipe(curl, basics):
    """A file without a name, and in chunks, as its length is not known."""
    mail = curl.deliver(*basics, "-F", "attachment=@-", stdin=b"piped\0")
    ((name, _, _, data),) = mail.attachments()
    assert name
    assert data == b"piped\0"


def test_curl_finished_message(curl, to):
    message = f"From: hello@example.com\nTo: {to}\nSubject: x\n\nHello\n".encode()
    mail = curl.deliver(
        "-F", f"to={to}", "-F", "message=@-;filename=m", path="messages.mime",
        stdin=message,
    )
    assert mail.raw.endswith(message)


def test_curl_wrong_key(curl, basics):
    assert curl.run("--user", "api:ps_wrong", *basics) == b"Forbidden"


@pytest.fixture
def api(form):
    """requests.post with a route and the key."""

    def post(path="messages", **options):
        answer = requests.post(
            f"{form.httpd.url}/v3/example.com/{path}",
            auth=("api", form.httpd.key),
            timeout=60,
            **options,
        )
        assert answer.status_code == 200, answer.text
        return form.box.sink.find(message_id=answer.json()["id"])

    return post


def test_requests_data(api, fields, to):
    other = unique("to") + "@dst.test"
    mail = api(data={**fields, "to": [to, other], "subject": "Grüße"})
    assert sorted(mail.recipients) == sorted([to, other])
    assert mail.header("Subject") == "Grüße"


def test_requests_files(api, fields):
    names = ["text.txt", "every byte.bin", "Grüße.txt", 'quo"te.txt', "empty.dat"]
    files = [("attachment", (name, FILES[name])) for name in names]
    files.append(("inline", ("a.png", b"\x89PNG", "image/png")))
    mail = api(data={**fields, "html": "<p>x"}, files=files)
    found = {(name, data) for name, _, _, data in mail.attachments()}
    assert found == {(n, FILES[n]) for n in names} | {("a.png", b"\x89PNG")}


def test_requests_fields_as_files(api, fields):
    """A way to have multipart without a file."""
    mail = api(files={name: (None, value) for name, value in fields.items()})
    assert mail.recipients == [fields["to"]]
    assert mail.body("plain") == "Hello\n"
    assert mail.attachments() == []


def test_requests_generator(api, fields):
    """A body that comes in chunks."""
    text = "&".join(f"{name}={value}" for name, value in fields.items())
    mail = api(
        data=(text[i : i + 2].encode() for i in range(0, len(text), 2)),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert mail.recipients == [fields["to"]]


def test_requests_finished_message(api, to):
    message = f"From: hello@example.com\nTo: {to}\n\nHello\n"
    mail = api("messages.mime", data={"to": to}, files={"message": message})
    assert mail.raw.endswith(message.encode())
