import scrapy


class SearchSpider(scrapy.Spider):
    name = "search"
    start_urls = ["http://127.0.0.1:8000/search/"]

    def parse(self, response):
        for words in ("tea", "coffee", "cocoa"):
            yield scrapy.FormRequest.from_response(
                response, formid="search", formdata={"q": words}, callback=self.parse_results
            )

    def parse_results(self, response):
        for result in response.css("li::text").getall():
            yield {"result": result}
