"""What notices say to visitors, in many languages. Searched in the visible text of pages that say hardly
anything else."""

from __future__ import annotations

import re

VERDICTS = re.compile(
    r"you (?:have been|are|were) (?:temporarily |currently )?(?:blocked|banned|being rate limited)"
    r"|your (?:ip|ip address|access|request|connection|device|network|browser)(?: address)?(?: \S{3,45})?"
    r"(?: to (?:this|our) \w+)? (?:has been|have been|was|is) "
    r"(?:temporarily |automatically |currently )?(?:blocked|banned|denied|restricted|limited|rejected|suspended|blacklisted)"
    r"|(?:this|the|your) (?:ip|request)(?: address)? (?:has been|was|is) (?:automatically )?(?:blocked|banned|rejected)"
    r"|access (?:to (?:this|our) (?:page|site|website|resource|service) (?:has been|is|was)|has been|was) "
    r"(?:temporarily )?(?:denied|blocked|restricted|limited)"
    r"|blocked by (?:our |the |a )?(?:network )?(?:security|firewall|waf|web application firewall|administrator)"
    r"|(?:the requested url was|request) rejected\b.{0,60}(?:administrator|support id|security)"
    r"|(?:unusual|suspicious|automated|abnormal|malicious|robotic|bot[- ]like) (?:traffic|activity|behaviou?r|requests|queries|access)"
    r"|(?:making|sending|sent|made) (?:\w+ ){0,2}requests too (?:quickly|fast|frequently|often)"
    r"|(?:disable|turn off|switch off|deactivate) (?:your |the |any )?(?:vpn|proxy)|(?:vpn|proxy)(?: or (?:vpn|proxy))? (?:was "
    r"|has been )?detected"
    r"|you(?: have|'ve|’ve) (?:reached|exceeded) (?:the|your) (?:\w+ )?(?:limit|quota)[^.]{0,40}(?:requests|\bip\b|address|views)"
    r"|too many requests|rate limit(?:ed)? exceeded|you are being rate limited"
    r"|exceeded (?:a|the|your) (?:secondary )?rate limit|reduce your request rate"
    r"|(?:made|makes|make) us (?:think|believe) (?:that )?you(?:'re|’re| are| were| might be| may be) (?:a |an )?(?:ro)?bot"
    r"|you (?:are|may be|might be) using automat(?:ion|ed)"
    r"|(?:(?:not|n't|n’t) (?:currently )?available|unavailable) (?:in|from) (?:your (?:current )?(?:country|region|location|area)"
    r"|(?:most )?(?:of )?(?:european countries|the european|the eu\b|europe))|your country (?:is|has been) (?:blocked|not allowed)"
    r"|(?:ihre?|deine?) (?:ip(?:-adresse)?|anfrage|zugriff|zugang)[^.]{0,40}(?:gesperrt|blockiert|eingeschränkt|abgelehnt)"
    r"|ungewöhnliche[rn]? (?:datenverkehr|aktivitäten|zugriffe)|zu viele anfragen"
    r"|votre (?:adresse )?(?:ip|accès|requête)[^.]{0,40}(?:bloquée?|refusée?|suspendue?)"
    r"|trafic (?:inhabituel|exceptionnel)|trop de requêtes"
    r"|(?:su|tu) (?:dirección )?(?:ip|acceso|solicitud)[^.]{0,40}(?:bloquead[oa]|denegad[oa]|restringid[oa])"
    r"|tráfico (?:inusual|sospechoso)|demasiadas solicitudes"
    r"|seu (?:endereço )?(?:ip|acesso)[^.]{0,40}(?:bloqueado|negado)|tráfego incomum|muitas solicitações"
    r"|(?:il tuo|l'|il suo) ?(?:indirizzo )?(?:ip|accesso)[^.]{0,40}(?:bloccato|negato)"
    r"|traffico (?:insolito|anomalo)|troppe richieste"
    r"|(?:uw|je) (?:ip-adres|toegang)[^.]{0,40}(?:geblokkeerd|geweigerd)|ongebruikelijk verkeer|te veel verzoeken"
    r"|(?:ваш ip|доступ)[^.]{0,60}(?:заблокирован|ограничен|запрещ[её]н)"
    r"|подозрительн(?:ый трафик|ая активность)|слишком много запросов"
    r"|(?:twój adres ip|dostęp)[^.]{0,40}(?:zablokowany|ograniczony)|nietypowy ruch|zbyt wiele żądań"
    r"|olağan dışı trafik|erişiminiz engellen|çok fazla istek"
    r"|(?:访问|请求|您的ip|ip地址)[^。]{0,20}(?:被拒绝|受限|被拦截|被禁止|过于频繁|频繁|异常)|异常流量|请求过多"
    r"|アクセスが(?:拒否|制限|集中|ブロック)|通常と異なるトラフィック|リクエストが多すぎます"
    r"|(?:网络环境|访问行为|ip)[^。]{0,10}(?:异常|风险)"
    r"|din (?:ip-adress|åtkomst)[^.]{0,40}(?:blockera|nekad)|din (?:ip-adresse|adgang|tilgang)[^.]{0,40}(?:blokker|nægt|nekt)"
    r"|ip-osoitteesi[^.]{0,40}estetty|(?:váš|vaše|va[sš]a) (?:přístup|ip adresa|ip)[^.]{0,40}(?:zablokov|odepřen|omezen)"
    r"|(?:az ön|hozzáférés)[^.]{0,40}(?:letilt|megtagad|korlátoz)|(?:adresa dvs|accesul)[^.]{0,40}(?:blocat|restricționat)"
    r"|(?:ваш[аіу]? (?:ip|доступ)|доступ до)[^.]{0,60}(?:заблоковано|обмежено)"
    r"|(?:truy cập|địa chỉ ip)[^.]{0,40}bị (?:chặn|từ chối)|(?:akses|alamat ip) anda[^.]{0,40}(?:diblokir|ditolak|dibatasi)"
    r"|تم (?:حظر|رفض|تقييد)[^.]{0,40}(?:ip|وصول|الوصول|عنوان)|הגישה (?:שלך )?נחסמה"
    r"|you (?:are|have been placed) (?:now )?in (?:the |a |our )?(?:line|queue|virtual (?:waiting room|queue))\b"
    r"|(?:page|url|website|site) you (?:have )?(?:requested|tried to access|are trying to (?:access|visit)) (?:has been|is|was) blocked"
    r"|접근이? ?(?:차단|거부|제한)|비정상적인 (?:트래픽|접근)|요청이 너무 많습니다"
)
"""Sentences that refuse this visitor."""

CHECKS = re.compile(
    r"(?:verify|confirm|prove|make sure|check(?:ing)?|verifying|ensure|show us)(?: that| if|ing)? "
    r"(?:you(?:'re|’re| are)|that you|it's really you)[^.]{0,20}"
    r"(?:human|robot|bot|person|you sending)"
    r"|are you (?:a )?(?:human|robot|bot)|robot or human"
    r"|(?:i am|i'm|i’m|you are|you're|you’re) (?:human|not (?:a )?(?:robot|bot))\b"
    r"|(?:complete|solve|pass|enter|type)[^.]{0,40}(?:captcha|security check|characters|challenge|puzzle|the code)"
    r"|checking your browser|your browser will redirect to your|checking if the site connection is secure"
    r"|review the security of your connection"
    r"|press (?:&|and) hold|slide to verify|drag the slider"
    r"|enable (?:javascript|js|cookies)(?: and (?:javascript|js|cookies|disable any ad blocker))?"
    r"|(?:kein|keine) (?:roboter|maschine)|sicherheits(?:überprüfung|prüfung|abfrage)"
    r"|überprüfen sie, ob sie ein mensch|bestätigen sie"
    r"|(?:pas|n'êtes pas) un robot|vérification de sécurité|vérifi(?:er|ez) que vous êtes|je suis humain"
    r"|no (?:eres|es|soy) un robot|verificación de seguridad"
    r"|verific(?:ar|a|amos) que (?:usted )?(?:eres|es|sea) humano"
    r"|não (?:é|sou) um robô|verificação de segurança|non sei un robot|verifica di sicurezza|geen robot"
    r"|beveiligingscontrole"
    r"|не (?:являетесь )?робот|отправляли вы, а не робот|проверка (?:безопасности|браузера)|подтвердите, что"
    r"|nie jesteś robotem|weryfikacja|robot olmadığınızı|güvenlik kontrolü"
    r"|проверяем (?:ваш )?браузер|включите javascript|подтвердити, що ви не робот|är inte en robot|er ikke en robot|et ole robotti"
    r"|nejste robot|nem robot|nu sunte[tț]i (?:un )?robot|không phải (?:là )?(?:người máy|robot)|bukan robot|لست (?:روبوت|برنامج)"
    r"|(?:点击|进行|開始|开始).{0,8}[验驗][证證]|安全验证|人机验证|验证码|完成.{0,6}验证|拖动.{0,6}滑块|不是机器人|人機驗證"
    r"|安全驗證|驗證碼"
    r"|ロボットではありません|セキュリティチェック|認証してください|로봇이 아닙니다|보안 (?:확인|문자)|자동입력 방지"
)
"""Sentences that demand a proof from this visitor."""

HINTS = (
    "block",
    "ban",
    "denied",
    "restrict",
    "limit",
    "reject",
    "suspend",
    "unusual",
    "suspicious",
    "automated",
    "abnormal",
    "malicious",
    "bot",
    "too many",
    "available in",
    "country",
    "human",
    "verif",
    "captcha",
    "check",
    "challenge",
    "characters",
    "puzzle",
    "hold",
    "slide",
    "enable",
    "gesperrt",
    "abgelehnt",
    "anfragen",
    "refus",
    "trafic",
    "trop de",
    "solicitudes",
    "muitas",
    "negad",
    "troppe",
    "weigerd",
    "verkeer",
    "verzoeken",
    "zablokowany",
    "nietypowy",
    "zbyt",
    "istek",
    "sicherheits",
    "bestätigen",
    "mensch",
    "roboter",
    "robo",
    "verific",
    "veiligings",
    "trafik",
    "accesso",
    "trafego",
    "weryfikacja",
    "bloque",
    "blocc",
    "blok",
    "denegad",
    "restringid",
    "eingeschr",
    "reduce",
    "automat",
    "blacklist",
    "limit",
    "too quickly",
    "too fast",
    "too often",
    "vpn",
    "proxy",
    "now in",
    "in line",
    "in the queue",
    "waiting room",
    "placed",
    "diblokir",
    "ditolak",
    "bukan",
    "sunteti",
    "nem ",
    "ikke",
    "nejste",
    "unavailable",
    "protect",
    "huma",
    "really you",
    "person",
)
"""Each ASCII text that either pattern matches contains one of these."""

TITLES = re.compile(
    r"(?:error )?(?:40[13]|429|503)?[ :\-–|.]*"
    r"(?:(?:access|permission|request) (?:is |was |has been )?(?:denied|blocked|forbidden|rejected|restricted)"
    r"|access to this page has been denied|forbidden|blocked|you have been blocked"
    r"|you(?:'ve| have) been blocked|too many requests|rate limit(?:ed| exceeded)?"
    r"|attention required|security (?:check|verification|challenge|checkpoint)"
    r"|are you (?:a )?(?:human|robot|bot)|robot or human|robot check|bot (?:check|verification|detected|challenge)"
    r"|slow(?:ing)? down|(?:vpn|proxy)(?: or (?:vpn|proxy))? detected|zu viele anfragen|trop de requêtes|demasiadas solicitudes"
    r"|troppe richieste|te veel verzoeken|muitas solicitações|слишком много запросов|zbyt wiele żądań|リクエストが多すぎます|请求过于频繁"
    r"|human (?:verification|check)|captcha(?: challenge| verification| required| interception)?|recaptcha"
    r"|(?:virtual )?waiting room(?: powered by cloudflare)?|(?:web ?)?(?:page|site) blocked|establishing a secure connection|hold on"
    r"|åtkomst nekad|adgang nægtet|ingen tilgang|tilgang nektet|pääsy estetty|p[rř][ií]stup (?:odep[rř]en|zam[ií]tnut)"
    r"|hozzáférés megtagadva"
    r"|túl sok kérés|acces (?:interzis|refuzat|blocat)|доступ (?:обмежено|заборонено|заблоковано)|truy cập bị từ chối"
    r"|akses (?:ditolak|diblokir)"
    r"|تم (?:رفض|حظر) الوصول|הגישה נדחתה|δεν επιτρέπεται η πρόσβαση|접근 차단|안전 ?확인|安全限制|禁止访问|访问验证|系统提示|提示"
    r"|access to (?:this|our) (?:site|page|website) (?:has been|is|was) (?:blocked|denied|restricted)|verifying your (?:browser"
    r"|connection)"
    r"|verif(?:y|ying)(?: that)? you(?:'re| are)(?: a)? human|checking your browser"
    r"|just a moment|one moment,? please|please wait|please verify|ddos protection|ddos-guard"
    r"|pardon our interruption|unusual traffic|sorry|validation|client challenge|challenge(?: page)?"
    r"|zugriff verweigert|zugang gesperrt|sicherheitsüberprüfung|nur einen moment|einen moment,? bitte"
    r"|accès (?:refusé|interdit|restreint)|un instant|vérification de sécurité"
    r"|acceso (?:denegado|restringido)|un momento|acesso (?:negado|bloqueado)|um momento"
    r"|accesso (?:negato|bloccato)|un attimo|toegang geweigerd|een moment geduld"
    r"|доступ (?:ограничен|запрещ[её]н|заблокирован)|ой!|один момент|odmowa dostępu|dostęp zablokowany"
    r"|momencik|erişim engellendi|bir dakika"
    r"|访问被拒绝|访问受限|安全验证|验证码拦截|人机验证|百度安全验证|请稍候|アクセス拒否"
    r"|アクセスが拒否されました|少々お待ちください|접근 거부|접근이 차단되었습니다|잠시만 기다리십시오)"
    r"[ !?.…:|\-–]*(?:(?:\||-|–|:|on|to) .{1,60})?"
)
"""Complete titles of notices. The site's name may follow a bar."""

DIRECT = re.compile(
    r"^(?:checking|verifying) your browser|is checking your browser and ip|you(?:'re|’re| are) (?:sending|making) (?:\w+ )?requests too "
    r"|this (?:content|website|site|page|video|service|article) (?:is (?:currently )?(?:not available|unavailable)"
    r"|isn['’]t available) in your "
    r"|n['’]est pas (?:disponible|accessible) dans votre (?:pays|région)|no está disponible en (?:tu|su) (?:país|región)"
    r"|in (?:ihrem|deinem) (?:land|region)[^.]{0,20}nicht (?:verfügbar|abrufbar)|non è disponibile nel tuo paese"
    r"|não está disponível (?:no|em) seu país"
    r"|niedostępn[ey] w twoim kraju|недоступ(?:ен|на|но) в вашей? (?:стране|регионе)"
    r"|在您(?:所在)?的(?:国家|地区|國家|地區).{0,8}(?:不可用|无法|無法)"
    r"|お住まいの(?:国|地域)では"
    r"|(?:confirm|verify|prove|let us know)(?: to us)? (?:that )?you(?:'re|’re| are) (?:not a (?:ro)?bot|(?:a )?human)"
    r"|(?:we(?:'ve|’ve| have)?|our systems(?: have)?) (?:detected|noticed|seen) (?:some )?(?:an )?(?:unusual|suspicious|automated"
    r"|abnormal) "
    r"(?:\w+ ){1,2}(?:\w+ )?(?:from|on|in) (?:your|this) |rate limit exceeded[.!]? (?:please )?(?:try|wait|retry)"
    r"|bestätigen sie,? dass sie (?:kein|ein mensch)|confirme[rz]? que vous (?:n'êtes pas un robot|êtes)|confirma que no eres un robot"
    r"|conferma di non essere un robot|bevestig dat (?:je|u) geen robot|bekräfta att du inte är en robot|bekræft,? at du ikke er en robot"
    r"|vahvista,? että et ole robotti|ov[eě][rř]te,? že nejste robot|potwierdź,? że nie jesteś robotem"
    r"|confirme que (?:você )?não é um robô"
    r"|(?:подтвердите|докажите),? что вы не робот|robot olmadığınızı (?:doğrula|onayla)|επιβεβαιώστε ότι δεν είστε ρομπότ"
    r"|ロボットではないことを|로봇이 아님을|(?:证明|確認|确认)您?不是(?:机器人|機器人)|ยืนยันว่า(?:คุณ)?ไม่ใช่หุ่นยนต์"
)
"""Sentences to this visitor that begin a page only if it is a notice."""
ABOUT = re.compile(
    r"\b(?:help|docs?|documentation|reference|blog|wiki(?:pedia)?|encyclop\w+|dictionary|guide|tutorial|faq|glossary|explained"
    r"|how to|examples?)\b"
)
"""Words in the titles of pages about notices."""
NAME_ENDS = re.compile(r" [|\-–:] |[!?.…]+(?: |$)")
ORDERS = re.compile(
    r"\b(?:please|try(?:ing)? again|later|you|your|contact|reference|incident|error|support|continue|button|reload|refresh"
    r"|seconds|javascript|cookies|browser|denied|forbidden|blocked|request|server|permission|redirect\w*|captcha|human|here)\b"
)
"""Words of which a notice has some after its title."""
TYPED = re.compile(
    r"(?:enter|type|input|write|retype)[^.]{0,40}(?:characters|letters|digits|numbers|code|text|symbols|word)[^.]{0,60}"
    r"(?:image|picture|below|above|see|shown)|(?:what|which)[^.]{0,30}(?:code|characters|letters)[^.]{0,30}(?:image|picture)"
    r"|(?:zeichen|buchstaben|code)[^.]{0,40}bild|(?:caractères|code)[^.]{0,40}image|(?:caracteres|letras|código)[^.]{0,40}imagen"
    r"|(?:символы|код|буквы|цифры)[^.]{0,40}(?:картинк|изображени)|输入.{0,10}(?:验证码|字符)"
)
"""Sentences that ask for the characters of an image."""

PLAIN = re.compile(
    r"(?:error )?(?:40[13])?[ :\-–|.]*(?:(?:access |permission )?(?:denied|forbidden)|access is denied|unauthorized)[ !.]*"
    r"|(?:http )?(?:error )?403\b.{0,40}"
)
"""Titles that any server gives to any refusal."""

DENIED = re.compile(r"denied|forbidden|permission|not (?:authori[sz]ed|allowed)|blocked|403\b")
"""Words of a plain refusal."""
PERSONAL = re.compile(
    r"you (?!are (?:now )?in |have been placed )|your |this ip|the ip|access |ihr|dein|votre|s[ue]u? |tu |il |l'|uw |je |ваш"
    r"|доступ|twój|dostęp|您|访问|请求|アクセス|접근"
)
"""How a verdict about this visitor begins. Others are about verdicts in general."""

LOGIN = re.compile(
    r"(?:you )?(?:must|need to|have to|please) (?:be )?(?:log(?:ged)?|sign(?:ed)?)[ -]?in "
    r"(?:to (?:continue|view|see|access|read|proceed|use|perform|your account)|first|before)"
    r"|(?:log|sign) ?in (?:or (?:sign up|register|create an account) )?to "
    r"(?:continue|read|proceed|(?:view|see|access)(?! (?:your|my|our|(?:the )?(?:\w+ )?(?:prices?|pricing|stock|availability"
    r"|offers?|deals|discounts?|points)\b)))"
    r"|(?:sign up|join|register) (?:now )?to (?:continue|(?:view|see|access|read) (?:this|more|all|full|it|the (?:full|rest"
    r"|whole)))|login required"
    r"|authentication required"
    r"|(?:page|content|article|area|section|site|forum) is (?:(?:only|exclusively|reserved|restricted|limited) (?:\w+ )?(?:for"
    r"|to) (?:\w+ )?"
    r"|(?:for|available to|visible to) (?:registered|logged[- ]in) )(?:members|users)\b"
    r"|(?:bitte )?(?:melden sie sich an|anmelden),? um|anmeldung erforderlich|connectez-vous pour(?! \w+ (?:tus|sus|mis|vos|tes"
    r"|mes|i tuoi|le tue|seus|suas) )"
    r"|connexion requise|inicia(?:r)? sesión para(?! \w+ (?:tus|sus|mis|vos|tes|mes|i tuoi|le tue|seus|suas) )|accedi per|faça login para"
    r"|vous devez être connectée? pour|devi (?:effettuare l['’]accesso|accedere) per|você precisa (?:fazer login|entrar) para"
    r"|(?:je|u) moet (?:inloggen|ingelogd zijn) om|du måste (?:logga in|vara inloggad) för|musisz (?:się zalogować"
    r"|być zalogowan[ya]),? aby"
    r"|you are not logged in or you do not have permission|requires you to be (?:registered and )?logged in"
    r"|you need an account to (?:see|view|read)"
    r"|(?:sie müssen|du musst) (?:angemeldet|eingeloggt|registriert) sein,? um|vous devez vous (?:identifier|connecter) pour"
    r"|debes? (?:iniciar sesión|identificarse|registrarse) para|(?:нужно|необходимо) (?:войти|авторизоваться|зарегистрироваться)(?: на|,)"
    r"|ログインが必要です|(?:需要|必须)(?:先)?登录(?:后)?(?:才能|方可)"
    r"|войдите,? чтобы|для просмотра необходимо (?:войти|авторизоваться)|zaloguj się,? aby|请先?登录"
    r"|登录后(?:查看|继续)|ログインして(?:ください)?|로그인이 필요"
)
"""Sentences that demand a log-in before anything is shown."""
LOGIN_TITLE = re.compile(
    r"(?:log|sign)[ -]?(?:in|on)\b.{0,60}|.{0,60}\b(?:log|sign)[ -]?in|anmelden.{0,60}|anmeldung.{0,60}"
    r"|einloggen.{0,60}|connexion.{0,60}|se connecter.{0,60}"
    r"|iniciar sesión.{0,60}|accedi.{0,60}|entrar.{0,60}|вход.{0,60}|войти.{0,60}|zaloguj.{0,60}"
    r"|logowanie.{0,60}|.{0,60}(?:登录|登錄|ログイン|로그인).{0,60}"
)
