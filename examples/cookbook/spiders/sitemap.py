from scrapy.spiders import SitemapSpider


class NewsSpider(SitemapSpider):
    name = "sitemap"
    sitemap_urls = ["http://127.0.0.1:8000/sitemap/sitemap.xml"]
    sitemap_rules = [("/news/", "parse_news")]

    def parse_news(self, response):
        yield {
            "title": response.css("article h1::text").get(),
            "day": response.css("time::attr(datetime)").get(),
        }
