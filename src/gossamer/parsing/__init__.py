"""Parsing: what is in a body. Pure functions of bytes: any bytes, no I/O, bounded time and memory, no exception.

addresses    links of one document made absolute
encodings    which encoding a body is in
html         a page as the crawler sees it: title, language, robots, canonical, hrefs, text
links        every link of a page with its text and kind
sitemaps     URLs of sitemaps and feeds
text         the text that a reader sees
"""
