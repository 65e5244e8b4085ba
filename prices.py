seeds = "http://127.0.0.1:34297/"
selectors = {
    "127.0.0.1:34297": {
        "name": "h1",
        "price": ".price",
        "old_price": "//i[@class='old']",
        "photos": ["img::attr(src)"],
        "follow": "a.product",
        "pages": "^/product/",
    },
    "*.other.example": {"title": "h2"},
}
