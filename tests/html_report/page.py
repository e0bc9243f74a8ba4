"""A page as its elements, read by html.parser; fails where elements are not closed in order."""
from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "br", "hr", "img", "input", "link", "col"})


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Of the element and those inside of it, with single spaces."""
        parts = (c if isinstance(c, str) else c.text for c in self.children)
        return " ".join("".join(parts).split())

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """Those inside of it, in order; class_ names one of the classes."""
        found: list[Element] = []
        for child in (c for c in self.children if isinstance(c, Element)):
            if (not tag or child.tag == tag) and child.fits(attributes):
                found.append(child)
            found += child.all(tag, **attributes)
        return found

    def fits(self, attributes: dict[str, str]) -> bool:
        return all(value in self.attributes.get("class", "").split() if name == "class_"
                   else self.attributes.get(name) == value for name, value in attributes.items())

    def one(self, tag: str = "", **attributes: str) -> Element:
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} of {tag} {attributes}"
        return found[0]


class Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.at = self.root = Element("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.at.tag == tag and self.at.parent is not None, f"</{tag}> ends <{self.at.tag}>"
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def parsed(page: str) -> Element:
    parser = Parser()
    parser.feed(page)
    parser.close()
    assert parser.at is parser.root, f"<{parser.at.tag}> is not closed"
    return parser.root


def rows(page: Element, caption: str) -> list[list[str]]:
    """Of the table whose caption begins so, without its head."""
    found = [t for t in page.all("table") if t.one("caption").text.startswith(caption)]
    assert len(found) == 1, f"{len(found)} tables '{caption}'"
    return [[c.text for c in row.children if isinstance(c, Element)] for row in found[0].one("tbody").all("tr")]


def table(page: Element, caption: str) -> dict[str, list[str]]:
    """The rows by what they begin with."""
    return {first: rest for first, *rest in rows(page, caption)}
