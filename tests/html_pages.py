"""Pages of HTML as tests read them."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "hr", "input", "link"}


class Page(HTMLParser):
    """A page that is well-formed: what is opened is closed, and ids are unique; keeps what it has, and cells by row."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.rows, self.text = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open
        self.ids = [value for name, value in self.attributes if name == "id"]
        assert len(set(self.ids)) == len(self.ids)
        self.references = [value for name, value in self.attributes if name in ("href", "src", "xlink:href", "srcset")]

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def words(self):
        return " ".join("".join(self.text).replace("\u00a0", " ").split())

    def row(self, name):
        return next([cell.replace("\u00a0", " ") for cell in row] for row in self.rows if row and row[0] == name)
