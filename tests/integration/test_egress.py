"""No request for a page leaves for anywhere but the public internet, whatever an address looks like or leads to."""

import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

import pytest
from starlette.responses import PlainTextResponse

from nodes.tools.fetch.egress import EgressPolicy, checked_network, checked_pattern
from nodes.tools.fetch.outcomes import FetchFailed
from nodes.tools.fetch.requests import Limits
from tests.support.open_web import open_pages, policy
from tests.support.site import Site, site

SEEN = "an address that stands for a machine of one's own"

FORMS = [
    *("http://127.0.0.1:{port}/", "http://127.1:{port}/", "http://127.0.1:{port}/", "http://2130706433:{port}/"),
    *("http://0x7f000001:{port}/", "http://0x7f.0.0.1:{port}/", "http://0x7F.1:{port}/"),
    *("http://017700000001:{port}/", "http://0177.0.0.1:{port}/", "http://127.0.0.01:{port}/"),
    *("http://0:{port}/", "http://0.0.0.0:{port}/", "http://0x0:{port}/", "http://127.0.0.1.:{port}/"),
    *("http://127.255.255.254:{port}/", "http://localhost:{port}/", "http://localhost.:{port}/"),
    *("http://LOCALHOST:{port}/", "http://[::1]:{port}/", "http://[::]:{port}/", "http://[0:0:0:0:0:0:0:1]:{port}/"),
    *("http://[::ffff:127.0.0.1]:{port}/", "http://[::ffff:7f00:1]:{port}/", "http://[::127.0.0.1]:{port}/"),
    *("http://[64:ff9b::7f00:1]:{port}/", "http://[64:ff9b:1::7f00:1]:{port}/", "http://[2002:7f00:1::]:{port}/"),
    *("http://[2001:0:7f00:1::]:{port}/", "http://[fe80::1%25lo]:{port}/", "http://[fd00:ec2::254]:{port}/"),
    *("http://[fec0::1]:{port}/", "http://[ff02::1]:{port}/"),
    *("http://example.com@127.0.0.1:{port}/", "http://127.0.0.1:{port}@localhost:{port}/"),
    *("http://example.com\\@127.0.0.1:{port}/", "http://example.com:80@[::1]:{port}/", "http://:@127.0.0.1:{port}/"),
    *("http://127。0。0。1:{port}/", "http://127．0．0．1:{port}/", "http://１２７.0.0.1:{port}/", "http://①②⑦.0.0.1:{port}/"),
    *("http://ⓛocalhost:{port}/", "http://ｌｏｃａｌｈｏｓｔ:{port}/", "http://127.0.0.1%2f.example.com:{port}/"),
    *("http://127.0.0.1%00.example.com:{port}/", "http://127.0.0.1\t:{port}/", "http:\\\\127.0.0.1:{port}/"),
    *("http:/127.0.0.1:{port}/", "http:127.0.0.1:{port}", "//127.0.0.1:{port}/", "127.0.0.1:{port}/"),
    *("http://169.254.169.254/latest/meta-data/", "http://169.254.169.254.:80/", "http://[::ffff:a9fe:a9fe]/"),
    *("http://0xa9fea9fe/", "http://2852039166/", "http://100.100.100.200/", "http://168.63.129.16/"),
    *("http://192.0.0.192/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.0.1/", "http://100.64.0.1/"),
    *("http://198.18.0.1/", "http://192.0.2.1/", "http://224.0.0.1/", "http://240.0.0.1/", "http://255.255.255.255/"),
    *("file:///etc/passwd", "gopher://127.0.0.1:{port}/_GET", "ftp://127.0.0.1:{port}/", "dict://127.0.0.1:{port}/"),
    *("ldap://127.0.0.1:{port}/", "data:text/html,x", "javascript:1", "unix:///run/docker.sock", "jar:http://127.0.0.1!/"),
    *("http://93.184.216.34:22/", "http://93.184.216.34:25/", "http://93.184.216.34:6000/", "https://93.184.216.34:0/"),
    "http://93.184.216.34:70000/",
]  # fmt: skip


@dataclass
class Names:
    """A DNS of the test's own: what each name stands for, one answer after the other; the last stays."""

    answers: dict[str, list[Sequence[str]]]
    asked: list[str] = field(default_factory=list[str])

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host; raises OSError where there is none."""
        self.asked.append(host)
        if host not in self.answers:
            raise OSError("no such name")
        answers = self.answers[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


@pytest.fixture(name="web")
def _web() -> Iterator[Site]:
    with site() as served:
        served.page("/", SEEN)
        served.page("/latest/meta-data/", SEEN)
        yield served


@pytest.mark.parametrize("form", FORMS)
async def test_no_spelling_of_an_address_reaches_a_machine_of_ones_own(
    web: Site, form: str
) -> None:
    """There is a server at that port, and it would answer."""
    async with open_pages(EgressPolicy(), Limits(seconds=5)) as pages:
        with pytest.raises(FetchFailed) as failed:
            await pages.fetch(form.format(port=web.port))
    assert failed.value.state in {"blocked", "unavailable"}
    assert not failed.value.transient
    assert web.asked == []


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "169.254.169.254", "0.0.0.0", "::1", "::ffff:127.0.0.1", "fe80::1%eth0"),
        *("fd12::1", "64:ff9b::a00:1", "2002:a00:1::", "100.64.0.1", "168.63.129.16", "224.0.0.1"),
    ],
)  # fmt: skip
async def test_a_name_that_stands_for_a_private_address_is_not_asked(address: str) -> None:
    names = Names({"page.example": [[address]]})
    async with open_pages(EgressPolicy(), resolver=names) as pages:
        with pytest.raises(FetchFailed, match="no public address") as failed:
            await pages.fetch("http://page.example/")
    assert failed.value.state == "blocked"


async def test_one_private_address_among_public_ones_refuses_the_name() -> None:
    """Whoever owns the name chose all of them."""
    names = Names({"page.example": [["93.184.216.34", "127.0.0.1"]]})
    async with open_pages(EgressPolicy(), resolver=names) as pages:
        with pytest.raises(FetchFailed, match=r"127\.0\.0\.1 is no public address"):
            await pages.fetch("http://page.example/")


async def test_a_name_is_asked_for_once_for_a_connection_and_the_connection_goes_there(
    web: Site,
) -> None:
    """A name that is public when it is checked and private when it is used cannot be: that is one look-up."""
    names = Names({"page.example": [["127.0.0.1"], ["10.0.0.1"]]})
    web.answer("/robots.txt", PlainTextResponse("User-agent: *\nAllow: /"))
    async with open_pages(resolver=names) as pages:
        received = await pages.fetch(f"http://page.example:{web.port}/")
    assert SEEN in received.content.decode()
    assert names.asked == ["page.example"]
    assert {each["host"] for each in web.headers} == {f"page.example:{web.port}"}


async def test_a_name_that_has_become_private_is_refused_with_the_next_connection(
    web: Site,
) -> None:
    names = Names({"page.example": [["127.0.0.1"], ["10.0.0.1"]]})
    web.page("/", SEEN, connection="close")
    web.answers["/robots.txt"] = web.answers["/"]
    async with open_pages(resolver=names) as pages:
        with pytest.raises(FetchFailed, match=r"10\.0\.0\.1 is no public address"):
            await pages.fetch(f"http://page.example:{web.port}/")
    assert web.asked == ["/robots.txt"]


@pytest.mark.parametrize(
    ("target", "state"),
    [
        ("http://10.0.0.1/", "blocked"),
        ("http://169.254.169.254/latest/meta-data/", "blocked"),
        ("http://[::1]:{port}/", "blocked"),
        ("//0x7f000001:{port}/", "blocked"),
        ("http://own.example:{port}/", "blocked"),
        ("http://me:secret@127.0.0.1:{port}/", "blocked"),
        ("file:///etc/passwd", "blocked"),
        ("gopher://127.0.0.1:{port}/_GET%20/", "blocked"),
        ("ftp://127.0.0.1/", "blocked"),
        ("http://127.0.0.1:22/", "blocked"),
        ("http://[::1", "unavailable"),
    ],
)
async def test_a_redirect_is_an_address_like_any_other(web: Site, target: str, state: str) -> None:
    names = Names({"own.example": [["10.0.0.1"]]})
    address = web.redirect("/moved", target.format(port=web.port))
    async with open_pages(resolver=names) as pages:
        with pytest.raises(FetchFailed) as failed:
            await pages.fetch(address)
    assert failed.value.state == state
    assert "secret" not in str(failed.value)
    assert web.asked == ["/robots.txt", "/moved"]


async def test_robots_txt_is_asked_for_under_the_same_rules(web: Site) -> None:
    web.redirect("/robots.txt", "http://169.254.169.254/robots.txt")
    async with open_pages() as pages:
        with pytest.raises(FetchFailed) as failed:
            await pages.fetch(f"{web.url}/")
    assert failed.value.state == "blocked"
    assert web.asked == ["/robots.txt"]


@pytest.mark.parametrize(
    ("rules", "host", "reached"),
    [
        ({"allowed_hosts": ("page.example",)}, "page.example", True),
        ({"allowed_hosts": ("page.example",)}, "www.page.example", False),
        ({"allowed_hosts": (".page.example",)}, "page.example", True),
        ({"allowed_hosts": (".page.example",)}, "www.page.example", True),
        ({"allowed_hosts": (".page.example",)}, "otherpage.example", False),
        ({"allowed_hosts": ("*.page.example",)}, "page.example", False),
        ({"allowed_hosts": ("*.page.example",)}, "a.b.page.example", True),
        ({"denied_hosts": ("page.example",)}, "page.example", False),
        ({"denied_hosts": ("page.example",)}, "PAGE.example.", False),
        ({"denied_hosts": ("*.page.example",)}, "page.example", True),
        ({"allowed_hosts": (".example",), "denied_hosts": (".page.example",)}, "page.example", False),
        ({"denied_hosts": ("xn--bcher-kva.example",)}, "bücher.example", False),
    ],
)  # fmt: skip
async def test_hosts_are_allowed_and_denied_by_name(
    web: Site, rules: dict[str, tuple[str, ...]], host: str, reached: bool
) -> None:
    class Everywhere:
        async def resolve(self, host: str, port: int) -> Sequence[str]:
            return ["127.0.0.1"]

    async with open_pages(policy(**rules), resolver=Everywhere()) as pages:
        if reached:
            assert (await pages.fetch(f"http://{host}:{web.port}/")).content
        else:
            with pytest.raises(FetchFailed, match="_HOSTS") as failed:
                await pages.fetch(f"http://{host}:{web.port}/")
            assert failed.value.state == "blocked"
    assert bool(web.asked) == reached


async def test_a_network_of_ones_own_is_reached_where_it_is_allowed(web: Site) -> None:
    """Also under the IPv6 spelling of its addresses."""
    rules = EgressPolicy(private_networks=(checked_network("127.0.0.0/8"),))
    rules.check_address("x", ip_address("::ffff:127.0.0.1"))
    async with open_pages(rules) as pages:
        assert (await pages.fetch(f"{web.url}/")).content


async def test_certificates_are_those_of_the_name_and_not_of_the_address(web: Site) -> None:
    """The connection goes to the address, TLS asks for the name: a server that speaks no TLS fails there."""
    names = Names({"page.example": [["127.0.0.1"]]})
    context = ssl.create_default_context()
    async with open_pages(resolver=names, certificates=context) as pages:
        with pytest.raises(FetchFailed, match="ConnectError") as failed:
            await pages.fetch(f"https://page.example:{web.port}/")
    assert failed.value.state == "unavailable"


@pytest.mark.parametrize(
    "text", ["", ".", "*.", "*", "a.*.example", "http://a.example", "a example"]
)
def test_a_pattern_that_can_fit_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="names of hosts"):
        checked_pattern(text)


def test_a_pattern_is_compared_as_hosts_are() -> None:
    assert checked_pattern("*.BÜCHER.example.") == "*.xn--bcher-kva.example"
