"""More pages for the tests of block detection: notices of more vendors and languages, and pages that only
resemble blocks. An early version of the detector judged each of these pages wrongly."""

from __future__ import annotations

from blocks.block_pages import page, seen
from gossamer.blocks import Block

NOTICES: list[tuple[str, str, Block | None]] = [
    # F5 BIG-IP ASM: a TSPD challenge with status 200
    (
        "generic",
        "challenge",
        seen(
            200,
            '<html><head><meta http-equiv="Pragma" content="no-cache"/><meta http-equiv="Expires" content="-1"/><meta http-equiv="CacheControl" content="no-cache"/><meta http-equiv="Content-Type" content="text/html; charset=utf-8"/><link rel="shortcut icon" href="data:;base64,iVBORw0KGgo="/><script type="text/javascript">(function(){window["bobcmn"] = "101110";window["failureConfig"]="x";})();</script><script type="text/javascript" src="/TSPD/08fb3a?type=9"></script><noscript>Please enable JavaScript to view the page content.<br/>Your support ID is: 123456789.</noscript></head><body></body></html>',
        ),
    ),
    # F5 BIG-IP APM: a captcha
    (
        "generic",
        "challenge",
        seen(
            200,
            '<html><head><title>Human verification</title></head><body><script>window["bobcmn"]="1";</script><script src="/TSPD/08?type=11"></script><noscript>Please enable JavaScript to view the page content.</noscript><p>This question is for testing whether you are a human visitor and to prevent automated spam submission.</p><form><input type="text" name="ans"><b>What code is in the image?</b></form></body></html>',
        ),
    ),
    # Radware (formerly ShieldSquare): a captcha
    (
        "hcaptcha",
        "captcha",
        seen(
            200,
            '<html><head><title>Radware Captcha Page</title></head><body><h1>We apologize for the inconvenience...</h1><p>...but your activity and behavior on this site made us think that you are a bot.</p><div class="h-captcha" data-sitekey="ae73173b"></div></body></html>',
        ),
    ),
    # Fastly: a client challenge with status 200
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "Client Challenge",
                '<div id="loading-error"><p>A required part of this site couldn’t load. This may be due to a browser extension, network issues, or browser settings.</p></div><script src="/_fs-ch-1T1wmsGaOgGaSxcX/script.js"></script><noscript>JavaScript is disabled in your browser. Please enable JavaScript to proceed.</noscript>',
            ),
        ),
    ),
    # Queue-it: an inline waiting room
    (
        "generic",
        "rate-limit",
        seen(
            200,
            page(
                "Queue-it",
                '<div id="MainPart_pWhichIsIn">You are now in line. Thank you for your patience. Your estimated wait time is: <span id="MainPart_lbWhichIsIn">more than an hour</span></div><script src="https://assets.queue-it.net/js/queue.js"></script>',
            ),
            "https://shop.queue-it.net/?c=shop&e=sale",
        ),
    ),
    # Arkose: a captcha page
    (
        "generic",
        "captcha",
        seen(
            200,
            page(
                "Verification",
                '<div id="arkose"></div><p>Please solve this puzzle so we know you are a real person</p><script src="https://client-api.arkoselabs.com/v2/ABC/api.js" data-callback="setupEnforcement"></script>',
            ),
        ),
    ),
    # amazon.de: the page with dogs, status 503
    (
        "generic",
        "denied",
        seen(
            503,
            '<!DOCTYPE html><html><head><title>Tut uns Leid!</title></head><body><a href="https://www.amazon.de/ref=cs_503_logo"><img alt="Amazon.de" src="x"></a><a href="/ref=cs_503_link">Es ist ein Fehler aufgetreten.</a><img src="/500_503.png"></body></html>',
            "https://www.amazon.de/dp/B0",
        ),
    ),
    # Google: the page that asks for JavaScript
    (
        "generic",
        "challenge",
        seen(
            200,
            '<!DOCTYPE html><html lang="en"><head><title>Google Search</title><style>body{}</style></head><body><noscript><style>table,div,span,p{display:none}</style><meta content="0;url=/httpservice/retry/enablejs?sei=Zw" http-equiv="refresh"><div style="display:block">Please click <a href="/httpservice/retry/enablejs?sei=Zw">here</a> if you are not redirected within a few seconds.</div></noscript><script nonce="x">//# sourceMappingURL=data:application/json\n(function(){})()</script></body></html>',
            "https://www.google.com/search?q=x",
        ),
    ),
    # a geographic block because of the GDPR, status 200
    (
        "generic",
        "denied",
        seen(
            200,
            page(
                "Access Denied",
                "<p>Our website is currently unavailable in most European countries. We are engaged on the issue.</p>",
            ),
        ),
    ),
    # a rate limit: status 503 with the error code SlowDown
    (
        "generic",
        "denied",
        seen(
            503,
            '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
        ),
    ),
    # Servicepipe
    (
        "generic",
        "challenge",
        seen(
            200,
            '<html><head><title></title></head><body><div id="id_spinner"></div><div id="id_captcha_frame_div" style="display:none;"></div><script src="https://servicepipe.ru/static/checkjs/abc/def.js"></script></body></html>',
        ),
    ),
    # Reddit: a JavaScript challenge with status 200
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "Reddit - Please wait for verification",
                '<div class="loader"></div><form method="GET" action=""><input type="hidden" name="solution" value=""><input type="hidden" name="js_challenge" value="1"><input type="hidden" name="token" value="x"></form><script>(async e=>e+e)("abc")</script>',
                "<style>body{}</style><style>body{}</style><style>body{}</style><style>body{}</style><style>body{}</style><style>body{}</style><style>body{}</style><style>body{}</style><style>body{}</style><style>body{}</style><style>body{}</style><style>body{}</style>",
            ),
            "https://www.reddit.com/r/x/",
        ),
    ),
    # Google: the consent page
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "Before you continue to Google Search",
                '<div>Sign in</div><h1>Before you continue to Google</h1><p>We use cookies and data to deliver and maintain Google services</p><form action="https://consent.google.com/save" method="POST"><button>Reject all</button><button>Accept all</button></form>',
            ),
            "https://consent.google.com/ml?continue=https://www.google.com/search?q=x&gl=DE",
        ),
    ),
    # YouTube: the consent page
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "Before you continue to YouTube",
                '<form action="https://consent.youtube.com/save"><button>Reject all</button></form><p>The kettle boils a litre in two minutes, and it is made of steel. <p>The kettle boils a litre in two minutes, and it is made of steel. <p>The kettle boils a litre in two minutes, and it is made of steel. <p>The kettle boils a litre in two minutes, and it is made of steel. <p>The kettle boils a litre in two minutes, and it is made of steel. ',
            ),
            "https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2Fwatch&gl=NL",
        ),
    ),
    # Yahoo: the consent page
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "Yahoo ist Teil der Yahoo Markenfamilie",
                '<form class="consent-form" action="/v2/collectConsent?sessionId=3"><button name="agree">Alle akzeptieren</button></form>',
            ),
            "https://consent.yahoo.com/v2/collectConsent?sessionId=3_cc-session_1",
        ),
    ),
    # ALTCHA
    (
        "generic",
        "captcha",
        seen(
            200,
            page(
                "Security check",
                '<form method="POST"><altcha-widget challengeurl="/c"></altcha-widget></form>',
            ),
        ),
    ),
    # an image captcha with a text field, status 200
    (
        "generic",
        "captcha",
        seen(
            200,
            page(
                "Security check",
                '<form><p>Please enter the characters you see in the image</p><img src="/captcha.php"><input type="text" name="captcha"><input type="submit"></form>',
            ),
        ),
    ),
    # an image captcha without a title, status 200
    (
        "generic",
        "captcha",
        seen(
            200,
            '<html><body><form action="/captcha"><img src="/captcha.jpg"><p>To continue, please type the characters below:</p><input name="code"><button>OK</button></form></body></html>',
        ),
    ),
    # AliExpress: a slider captcha
    (
        "generic",
        "captcha",
        seen(
            200,
            page(
                "Captcha Interception",
                '<div class="warnning-text">Sorry, we have detected unusual traffic from your network.</div><p>Please slide to verify</p><div id="nc_1_wrapper"></div>',
            ),
        ),
    ),
    # Shopee
    (
        "generic",
        "captcha",
        seen(
            200,
            page(
                "Shopee",
                "<div>Page Unavailable</div><p>Sorry, there are too many requests or your activity is unusual. Verify to continue</p>",
            ),
            "https://shopee.sg/verify/captcha?anchor=1",
        ),
    ),
    # Lazada
    (
        "generic",
        "captcha",
        seen(
            200,
            '<html><body>{"ret":["FAIL_SYS_USER_VALIDATE","RGV587_ERROR::SM::"],"data":{"url":"https://acs.lazada.com//h5/_____tmd_____/punish"}}</body></html>',
        ),
    ),
    # Weibo: the visitor check
    (
        "generic",
        "captcha",
        seen(
            200,
            page(
                "Sina Visitor System",
                '<span id="message"></span><script src="/js/visitor/mini_original.js"></script><script>var url = url || {};incarnate();</script>',
            ),
            "https://passport.weibo.com/visitor/visitor?entry=miniblog&a=enter&url=x",
        ),
    ),
    # Zhihu: the "unhuman" page
    (
        "generic",
        "captcha",
        seen(
            200,
            page(
                "安全验证 - 知乎",
                '<div class="Unhuman"><p>系统监测到您的网络环境存在异常，请点击下方验证按钮进行验证</p><button>开始验证</button></div>',
            ),
            "https://www.zhihu.com/account/unhuman?type=unhuman",
        ),
    ),
    (
        "generic",
        "denied",
        seen(200, page("安全限制", "<p>IP存在风险，请切换可靠网络环境后重试</p>")),
    ),  # xiaohongshu
    # Tencent EdgeOne: status 567
    (
        "generic",
        "denied",
        seen(
            567,
            page(
                "Restricted Access",
                "<p>The request you submitted violates the protection policies</p><a>EdgeOne</a>",
            ),
        ),
    ),
    # Wildberries (Russian): status 498
    ("generic", "challenge", seen(498, page("", "<p>Почти готово... Проверяем браузер</p>"))),
    (
        "generic",
        "denied",
        seen(200, page("접근 차단", "<p>비정상적인 접근이 감지되어 차단되었습니다.</p>")),
    ),  # ko 200
    ("generic", "denied", seen(200, page("تم رفض الوصول", "<p>تم حظر عنوان IP الخاص بك.</p>"))),  # ar
    ("generic", "denied", seen(200, page("Åtkomst nekad", "<p>Din IP-adress har blockerats.</p>"))),  # sv 200
    # Cloudflare: a waiting room
    (
        "generic",
        "rate-limit",
        seen(
            200,
            page(
                "Waiting Room powered by Cloudflare",
                '<div id="waitTime"><h2>You are now in line.</h2><p>Your estimated wait time is 4 minutes.</p><p>This page will auto refresh</p></div>',
            ),
            set_cookie="__cfwaitingroom=Chh",
        ),
    ),
    # Nike: a queue page behind Akamai
    (
        "generic",
        "rate-limit",
        seen(
            200,
            page(
                "Waiting room",
                "<p>You are in a virtual waiting room. Please do not refresh this page. You are in line.</p>",
            ),
        ),
    ),
    # status 200 with a meta refresh to a captcha
    (
        "generic",
        "captcha",
        seen(
            200,
            '<html><head><meta http-equiv="refresh" content="0;url=/captcha?from=/item/17"></head><body></body></html>',
        ),
    ),
    # Bunny: status 200
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "Establishing a secure connection ...",
                '<h1>Establishing a secure connection ...</h1><p>Please wait while we verify your browser</p><script src="/.bunny-shield/assets/challenge.js"></script>',
            ),
        ),
    ),
    # haproxy protection
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "Hold on...",
                '<h1>Checking your browser for robots 🤖</h1><noscript><br><p class="red">JavaScript is required on this page.</p></noscript><script src="/.basedflare/js/challenge.js"></script><a href="https://gitgud.io/fatchan/haproxy-protection/">Open Source Bot Protection</a>',
            ),
        ),
    ),
    ("generic", "denied", seen(200, "Forbidden")),  # a short text with status 200
    # a short HTML page without a title, status 200
    ("generic", "denied", seen(200, "<html><body>Access Denied</body></html>")),
    # TikTok: "Please wait"
    (
        "generic",
        "challenge",
        seen(
            200,
            '<html><head><title>Please wait...</title><script src="https://lf16-tiktok-web.tiktokcdn-us.com/slardar"></script></head><body><p id="cs" class="eyJ0"></p><script>_wafchallengeid="x";document.cookie="a";</script></body></html>',
        ),
    ),
    # Sophos or Fortinet: status 200
    (
        "generic",
        "denied",
        seen(
            200,
            page(
                "Web Page Blocked",
                "<h1>FortiGuard Intrusion Prevention - Access Blocked</h1><p>Web Page Blocked! The page you have requested has been blocked</p>",
            ),
        ),
    ),
    (
        "generic",
        "rate-limit",
        seen(
            200,
            page(
                "Slow down!",
                "<p>You are making requests too quickly. Please wait a moment and try again.</p>",
            ),
        ),
    ),
    (
        "generic",
        "denied",
        seen(
            200,
            page(
                "Sorry, something looks off",
                "<p>We've detected automated access from your network. If you believe this is an error, contact support.</p>",
            ),
        ),
    ),
    (
        "generic",
        "denied",
        seen(
            200,
            page(
                "Bloomberg - Are you a robot?",
                "<h1>We've detected unusual activity from your computer network</h1><p>To continue, please click the box below to let us know you're not a robot.</p>",
            ),
        ),
    ),
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "Verify",
                "<h1>Let's confirm you are human</h1><p>Complete the security check before continuing.</p><button>Begin</button>",
            ),
        ),
    ),
    (
        "generic",
        "rate-limit",
        seen(200, page("Error", "<p>Rate limit exceeded. Try again in 30 seconds.</p>")),
    ),
    (
        "generic",
        "denied",
        seen(
            200,
            page(
                "VPN detected",
                "<h1>VPN or proxy detected</h1><p>Please disable your VPN or proxy to access this website.</p>",
            ),
        ),
    ),
    ("generic", "denied", seen(200, page("Sorry", "<p>Sorry, Hulu isn't available in your region.</p>"))),
    ("generic", "challenge", seen(200, page("Ben je een robot?", "<p>Bevestig dat je geen robot bent.</p>"))),
    ("generic", "denied", seen(200, page("Är du en robot?", "<p>Bekräfta att du inte är en robot.</p>"))),
    (
        "generic",
        "rate-limit",
        seen(
            200, page("Zu viele Anfragen", "<p>Sie haben zu viele Anfragen gesendet. Bitte warten Sie.</p>")
        ),
    ),
    (
        "generic",
        "denied",
        seen(200, page("Verifica di sicurezza", "<p>Conferma di non essere un robot.</p>")),
    ),
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "Verifying your browser",
                "<p>This process is automatic. Your browser will redirect to your requested content shortly.</p><script>document.cookie='x=1'</script>",
            ),
        ),
    ),
    (
        "generic",
        "denied",
        seen(
            200,
            page(
                "Access to this site has been blocked",
                "<p>Your access to this site has been blocked. Error code 16. Incident 123.</p>",
            ),
        ),
    ),
    (
        "generic",
        "rate-limit",
        seen(200, page("Whoa, slow down", "<p>You are sending requests too fast. Wait a minute.</p>")),
    ),
    (
        "generic",
        "denied",
        seen(
            200,
            page(
                "Daily limit reached", "<p>You have reached the daily limit of pages for your IP address.</p>"
            ),
        ),
    ),
    ("generic", "denied", seen(200, page("Blacklisted", "<p>Your IP address has been blacklisted.</p>"))),
    (
        "generic",
        "challenge",
        seen(
            200,
            '<html><head><script src="/stormwall/challenge.js"></script></head><body>Checking your browser...</body></html>',
        ),
    ),
    (
        "generic",
        "challenge",
        seen(
            200,
            page(
                "SpamFireWall",
                "<p>SpamFireWall is checking your browser and IP 1.2.3.4 for spam bots. To continue working with the web site, please make sure that you have enabled JavaScript.</p>",
            ),
        ),
    ),
    (
        "generic",
        "denied",
        seen(200, page("Unavailable", "<p>This content is not available in your region.</p>")),
    ),
    (
        "generic",
        "denied",
        seen(200, page("Contenu indisponible", "<p>Ce contenu n'est pas disponible dans votre pays.</p>")),
    ),
    (
        "generic",
        "denied",
        seen(200, page("Nicht verfügbar", "<p>Dieser Inhalt ist in Ihrem Land leider nicht verfügbar.</p>")),
    ),
    (
        "generic",
        "denied",
        seen(200, page("No disponible", "<p>Este contenido no está disponible en tu país.</p>")),
    ),
    (
        "generic",
        "login",
        seen(200, page("Connexion requise", "<p>Vous devez être connecté pour voir cette page.</p>")),
    ),
    (
        "generic",
        "login",
        seen(200, page("Logowanie", "<p>Musisz się zalogować, aby zobaczyć tę stronę.</p>")),
    ),
    (
        "recaptcha",
        "captcha",
        seen(
            200,
            page(
                "Security check",
                "<select id='language'><option>English</select><p>Please verify you are human</p><div class='g-recaptcha' data-sitekey='x'></div>",
            ),
        ),
    ),
]

NONE: dict[str, Block | None] = {
    "q&a short": seen(
        200,
        page(
            "python - Getting 403 forbidden - Stack Overflow",
            "<h1>Getting 403 forbidden</h1><p>When I scrape the site I get: Access Denied You don't have permission to access on this server. Reference #18.4d2c1602.1700000000.1a2b</p><p>Set a user-agent.</p>",
        ),
    ),
    "song too many requests": seen(
        200,
        page(
            "Too Many Requests - single",
            "<h1>Too Many Requests</h1><p>Listen to the new single on all platforms.</p>",
        ),
    ),
    "recaptcha in form without type attr": seen(
        200,
        page(
            "Newsletter sign-up",
            '<form><label>Mail</label><input name="mail"><div class="g-recaptcha" data-sitekey="x"></div><input type="submit"></form>',
        ),
    ),
    "recaptcha in form select": seen(
        200,
        page(
            "Ask for a quote",
            '<form><select name="kind"><option>A<option>B</select><div class="g-recaptcha" data-sitekey="x"></div><button>Get a quote</button></form><p>We answer within a day.</p>',
        ),
    ),
    "forum notice": seen(
        200,
        page(
            "Rules of the forum",
            "<p>Spammers: your access will be blocked. Members only area: see below.</p>",
        ),
    ),
    "checkout with recaptcha": seen(
        200,
        page(
            "Checkout",
            "<form><input name='first_name'><input name='street'><div class='g-recaptcha'></div><button>Pay</button></form>",
        ),
    ),
    "help: verify you're human": seen(
        200,
        page(
            "Verifying that you are human | Help Center",
            "<h1>Verifying</h1><p>We sometimes ask you to complete a captcha. Press and hold the button until done.</p>",
        ),
    ),
    "status code page 403 reference": seen(
        200,
        page(
            "403 Forbidden - HTTP | Reference",
            "<h1>403 Forbidden</h1><p>The server understood the request but refuses to authorize it.</p>",
        ),
    ),
    "robot shop 2": seen(
        200,
        page(
            "Are you a robot?",
            "<h1>Are you a robot?</h1><p>A picture book for ages 4 and up. Hardcover, 32 pages, 14.90.</p>",
        ),
    ),
    "login in header": seen(
        200,
        page(
            "Kettle 1 l",
            "<a href='/login'>Log in to see your orders</a><h1>Kettle</h1><p>Steel, 1 litre. 12.90 EUR. In stock. Delivery in 2 days.</p>",
        ),
    ),
    "b2b prices after login": seen(
        200,
        page(
            "Valve DN20 | B2B",
            "<h1>Valve DN20</h1><p>Brass valve. <a href='/login'>Log in to see prices</a></p>",
        ),
    ),
    "membership page": seen(
        200, page("Membership", "<h1>Join us</h1><p>Members get 10% off. Log in to view your points.</p>")
    ),
    "signup cta": seen(
        200,
        page(
            "Webinar",
            "<p>Sign up to access the webinar on 3 May. It is free, lasts an hour and covers steel.</p>",
        ),
    ),
    "members list": seen(
        200, page("Club", "<p>This page is for members and friends of the club. Next meeting: 4 May.</p>")
    ),
    "search with captcha word": seen(
        200,
        page(
            "Search",
            "<form><input name=q></form><p>captcha solving services compared; enter the code below for 5% off</p>",
        ),
    ),
    "guce link": seen(
        200,
        page("News", "<p>News of today. A storm came. Read more tomorrow.</p>"),
        "https://news.example/?u=//guce.yahoo.com/x",
    ),
    "verify captcha path article": seen(
        200,
        page("How we verify", "<p>Text about how we verify things at the lab with scales and rulers.</p>"),
        "https://ex.com/blog/verify/captchas-at-work",
    ),
    "spanish shop": seen(200, page("Lámpara", "<p>Lámpara 49 €. Inicia sesión para ver tus pedidos.</p>")),
    "french shop": seen(200, page("Lampe", "<p>Lampe 49 €. Connectez-vous pour voir vos commandes.</p>")),
}
