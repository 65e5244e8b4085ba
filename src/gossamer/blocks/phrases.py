"""Sentences of notices by families of words, each family in many languages. A sentence counts if it is about
this visitor (your address, your country, you are in the queue) and on a short page that says little else.
Everything is in lower case. Gaps end with the sentence and are limited."""

from __future__ import annotations

import re

PROOF = re.compile(
    # prove that you are a person
    r"(?:verify|verifying|confirm|prove|ensure|make sure|check(?:ing)?)\b[^.!?]{0,60}\bnot (?:a |an )?(?:ro)?bot\b"
    r"|(?:verify|confirm) (?:yourself|your identity) to (?:continue|proceed)|please complete the (?:security )?(?:check|challenge"
    r"|verification)"
    r"|hold the button until|(?:do|complete|pass) a quick (?:security )?check|protect\w*[^.!?]{0,40} from (?:bots|automated"
    r"|robots)[^.!?]{0,30}(?:please|hold|answer|click|press|solve)"
    r"|(?:überprüf|bestätig|beweis|verifizier)\w*[^.!?]{0,20}dass (?:sie|du) (?:ein mensch|kein)"
    r"|(?:vérifi|confirm|prouv)\w*[^.!?]{0,15}que vous (?:êtes (?:un )?(?:être )?humain|n['’]êtes pas un)"
    r"|(?:verifi|confirm|demuestr|demostr|comprueb)\w*[^.!?]{0,15}que (?:usted )?(?:no )?(?:es|eres) (?:un )?(?:ser humano|humano|robot)"
    r"|(?:verifi|confirm|prov)\w*[^.!?]{0,15}(?:se|que) (?:você )?(?:não )?é (?:um )?(?:ser )?(?:humano|robô)"
    r"|(?:verific|conferm|dimostr)\w*[^.!?]{0,15}di (?:non )?essere (?:un )?(?:essere )?(?:umano|robot)"
    r"|(?:potwierdź|udowodnij|zweryfikuj)[^.!?]{0,15}że (?:nie )?jesteś (?:człowiekiem|robotem)"
    r"|(?:подтверд|докаж|провер|убед)\w*[^.!?]{0,15}что вы (?:не )?(?:человек|робот|бот)"
    r"|(?:verifieer|bevestig|bewijs|controleren)[^.!?]{0,15}dat (?:u|je|jij) (?:een mens|geen)"
    r"|(?:insan|robot) ol(?:duğunuzu|madığınızı) (?:doğrula|onayla|kanıtla)"
    r"|(?:人間であること|ロボットではないこと)[^。]{0,6}(?:確認|証明)|(?:사람인지|로봇이 아님을|사람임을) ?(?:확인|인증|증명)"
    r"|(?:验证|確認|确认|证明)[^。]{0,4}(?:您|你)?(?:是|不是)(?:真人|人类|机器人)|(?:拖动|按住)[^。]{0,6}滑块|完成[^。]{0,4}(?:验证|驗證)"
    r"|(?:تحقق|تأكد|التأكد|أكد)[^.؟]{0,10}أنك (?:إنسان|لست)"
    r"|(?:bekräfta|bekræft|bekreft)\w*[^.!?]{0,10}att? du (?:är en människa|er et menneske|inte|ikke)"
    r"|potvrďte,? že (?:nejste|jste)|igazolja,? hogy (?:nem robot|ember)|confirma[tț]i că (?:nu )?sunte[tț]i"
    r"|verifikasi (?:bahwa )?anda (?:bukan|manusia)|xác (?:minh|nhận)(?: rằng)? bạn (?:không phải )?là|ยืนยันว่าคุณ|보안문자를 입력"
    # your browser is being checked
    r"|your (?:browser|connection) is being (?:verified|checked|inspected)|ihr browser wird (?:über|ge)prüft"
    r"|vérification de votre navigateur"
    r"|comprobando (?:su|tu) navegador|verificando (?:o )?seu navegador|(?:идёт|идет) проверка (?:вашего )?браузера|проверяем,? что вы"
    r"|controllo del tuo browser|sprawdzamy (?:twoją )?przeglądarkę"
)
"""Sentences that demand a proof from this visitor."""

LIMIT = re.compile(
    r"(?:browsing|clicking|requesting pages|searching) too (?:fast|quickly)|your requests are being (?:throttled|limited)"
    r"|too many (?:hits|requests|page views|attempts|connections|searches) (?:from|by) (?:your|this) "
    r"|exceeded the (?:maximum )?(?:number|amount|limit) of (?:\w+ ){0,2}(?:views|requests|pages|hits|searches|queries)"
    r"|please wait a few (?:minutes|seconds|moments) before (?:you try|trying) again"
    r"|(?:placed|put) in (?:a|the|our) (?:virtual )?(?:queue|waiting room)|(?:people|users|visitors|customers) (?:ahead of"
    r"|in front of) you"
    r"|when it(?:'s|’s| is) your turn"
    r"|zu viele (?:zugriffe|anfragen)[^.!?]{0,30}(?:gesendet|von ihrer|ihrer ip)|ihrer ip[^.!?]{0,30}zu viele"
    r"|(?:sie (?:befinden sich|sind)|du bist|du befindest dich) in (?:der|einer) warteschlange"
    r"|trop de (?:requêtes|demandes)[.,]? |vous êtes dans (?:la|une) file d"
    r"|ha(?:s)? realizado demasiad[oa]s (?:peticiones|solicitudes|consultas)|superado el (?:número|límite) (?:máximo )?de "
    r"(?:peticiones|solicitudes|consultas)|est[aá]s? en la (?:fila|cola)\b"
    r"|(?:fez|enviou) (?:muitas|demasiadas) (?:solicitações|requisições)|você está na fila|hai (?:effettuato"
    r"|inviato) troppe richieste|sei in coda\b"
    r"|wysła\w+ zbyt wiele (?:zapytań|żądań)|jesteś w kolejce|(?:je|u) (?:staat|bent) in de wacht(?:rij|kamer)"
    r"|te veel (?:verzoeken|aanvragen) (?:verstuurd|gedaan)|çok fazla istek gönder|sıradasınız"
    r"|с вашего[^.!?]{0,30}слишком много|вы (?:находитесь )?в очереди|liian monta pyyntöä|för många förfrågningar"
    r"|正在排队|(?:操作|访问|请求|查询)[^。]{0,6}(?:太|过于)频繁|短時間に(?:多数|大量)のアクセス|アクセスが集中して(?:いる|おり)"
    r"|順番待ち|과도한 (?:접속|요청)|접속 ?대기"
    r"|demasiadas peticiones desde su|terlalu banyak permintaan|quá nhiều yêu cầu|πάρα πολλά αιτήματα"
)
"""Sentences that say that this visitor makes too many requests, or waits in a queue."""

REFUSED = re.compile(
    r"your (?:ip|request|connection|brows\w+|session|activity|network|device|visit|access)\b[^.!?]{0,60}\b(?:is|are|was|were|been"
    r"|looks)(?: \w+ly)? (?:blocked|denied|paused|rejected"
    r"|flagged|stopped|banned|not (?:permitted|allowed)|identified as (?:automated|a bot|suspicious)|like an attack)"
    r"|\bip (?:address )?[\d.]{7,15} (?:has been|is|was) (?:blocked|banned|denied)|considers? an attack|\battack id:? ?\d{5}"
    r"|(?:blocked|stopped|denied|rejected) by (?:our |the |a )?(?:web application firewall|waf|firewall|security (?:rules|policy"
    r"|system|service))"
    r"|unauthori[sz]ed (?:request|activity)(?: has been| was)? (?:blocked|detected)"
    r"|we (?:do not|don['’]t|cannot|can['’]t) (?:serve|allow|accept) (?:visitors|users|traffic|visits|connections|requests) from your"
    r"|access from your (?:country|region|ip|network|location)[^.!?]{0,40}(?:disabled|blocked|denied|not (?:allowed|permitted))"
    r"|(?:not available|unavailable|cannot be viewed) (?:where you are|in your (?:current )?location|from your (?:country|region"
    r"|location))"
    r"|(?:looks like|appears(?: that)?) you(?:['’]re| are) (?:outside|not in) the|only (?:works|available) in the \w{2,20}\. sorry"
    r"|(?:attempting|trying) to (?:access|visit|reach) this (?:website|site|page|service) from a (?:country|region|location)"
    # the requested address was refused
    r"|(?:url|anfrage) wurde (?:abgelehnt|blockiert)|(?:url|requête)[^.!?]{0,20}(?:a été|est) (?:rejetée|bloquée|refusée)"
    r"|(?:url|solicitud|petición)[^.!?]{0,20} fue (?:rechazad|bloquead|denegad)|(?:url|requisição"
    r"|solicitação)[^.!?]{0,20} foi (?:rejeitad|bloquead|negad)"
    r"|(?:url|richiesta)[^.!?]{0,20} è stat[ao] (?:rifiutat|respint|bloccat)|ваш\w* (?:запрос|ip|адрес)[^.!?]{0,60}(?:заблокир"
    r"|отклон|ограничен)"
    r"|(?:interdite?|bloquée?|refusée?) par (?:le|notre) (?:pare-feu|système)|访问被阻断|(?:已被|被)[^。]{0,12}拦截|设置拦截|疑似黑客"
    # this address, this network
    r"|ip adresiniz[^.!?]{0,40}engel|vaša? (?:ip adresa|ip|pristup)[^.!?]{0,20}blokiran|ip는[^.!?]{0,30}차단"
    r"|からのアクセス[はを](?:遮断|拒否|制限|ブロック)"
    r"|アクセスを制限して|accès[^.!?]{0,40}depuis votre[^.!?]{0,50}(?:restreint|bloqué|suspendu|interdit)|ihr(?:e|en|em"
    r"|er)? (?:zugriff|zugang|ip)\b"
    r"[^.!?]{0,40}(?:gesperrt|blockiert)"
    r"|(?:activité|trafic|comportement) (?:inhabituel|suspect|anormal)\w*[^.!?]{0,30}(?:votre|vos)\b|pens(?:é|er) que vous (?:êtes"
    r"|étiez) un robot"
    r"|(?:actividad|tráfico|comportamiento) (?:inusual|sospechos[ao]|anormal)[^.!?]{0,40}\b[st]u (?:red|ip|direcci|equipo|conexi"
    r"|dispositivo)"
    r"|(?:comportamento|tráfego|atividade) (?:incomum|suspeit[ao]|anormal)[^.!?]{0,40}\bsu?eu?a? (?:rede|ip|endereço|conexão|dispositivo)"
    r"|(?:attività|traffico) (?:insolit[ao]|sospett[ao]|anomal[ao])[^.!?]{0,40}(?:tu[ao]|su[ao]) (?:rete|ip|indirizzo|connessione"
    r"|dispositivo)"
    r"|(?:nietypow|podejrzan)\w* (?:aktywno|ruch)\w*[^.!?]{0,40}(?:twoje|państwa|ip)|подозрительн\w+ (?:активност|трафик"
    r"|запрос)\w*[^.!?]{0,40}(?:ваш|ip)"
    r"|(?:ongewo(?:on|ne)|verdachte?) (?:verkeer|activiteit)[^.!?]{0,40}\b(?:uw|je|jouw)\b|ovanlig trafik från ditt"
    r"|usædvanlig trafik fra di"
    r"|neobvykl\w+ (?:provoz|aktivit\w+)[^.!?]{0,20}va[sš]|szokatlan (?:forgal|tevéken)\w+|trafic neobișnuit|activitate neobișnuită"
    r"|aktivitas (?:tidak wajar|mencurigakan)|lưu lượng (?:truy cập )?bất thường|ασυνήθιστη (?:δραστηριότητα|κίνηση)|ผิดปกติจากเครือข่าย"
    r"|(?:نشاط|حركة)[^.؟]{0,15}غير (?:عادي|معتاد)|(?:不審な|異常な)(?:アクセス|リクエスト)|자동화된 (?:접근|요청)|(?:检测到"
    r"|存在)[^。]{0,10}异常"
    r"|если вы используете vpn|(?:disable|switch off|turn off) (?:your )?vpn and (?:reload|try|refresh)"
    # not in your country
    r"|недоступ\w+ в ваш\w+ (?:стран|регион)|ülke(?:niz)?de (?:kullanılamıyor|mevcut değil)"
    r"|in (?:ihrem|deinem) (?:land|standort)[^.!?]{0,30}nicht (?:zur verfügung|verfügbar|abrufbar)"
    r"|n['’]est pas (?:disponible|accessible) (?:dans|depuis) votre (?:pays|région|position|localisation|territoire)"
    r"|no está disponible en (?:tu|su) (?:ubicación|país|región|zona)|não está disponível (?:na|no|em) (?:sua|seu) (?:região|país"
    r"|localização)"
    r"|non è disponibile nel(?:la)? tu[ao] (?:area|zona|paese|regione)|nie jest dostępn[aey] w (?:twoim|państwa) (?:kraju|regionie)"
    r"|niet beschikbaar in (?:uw|jouw|je) (?:land|regio)|غير (?:متاح|متوفر) في (?:بلدك|منطقتك)|není dostupn\w+ ve vaší zemi"
    r"|inte tillgänglig\w* i ditt land"
)
"""Sentences that refuse this visitor."""

FAMILIES = (("challenge", PROOF), ("rate-limit", LIMIT), ("denied", REFUSED))

TOLD = re.compile(
    r"\b(?:if|when(?:ever)?|how|why|what|where|says?|said|means|called|error message|asks?)\b|[\"“”„«»「」]|\b(?:wenn|falls|si|se"
    r"|quand|если|gdy|jeśli|als)\b"
)
"""Words just before such a sentence that show that the page is about notices."""
WEB = re.compile(
    r"\bip\b|\bsite|web|server|url|browser|your|page|firewall|сайт|страниц|адрес|stron|serwis|sito|pagina|página|seite|サイト"
    r"|ページ|ip|사이트|페이지|网|页"
)
"""Words that show that a verdict that addresses nobody is about the web. Others are about roads and parks."""
ALIKE = re.compile(
    r"\bro?bots?\b|robô|робот|human|mens\b|mensch|\bip\b|\bvpn\b|access|accès|acceso|acesso|доступ|zugriff|identity|unavailable"
    r"|restricted|blocked"
    r"|denied|detected|ülke|غير متاح|limit|queue|verif|secur|sicherheit|too many|page not available|demand"
)
"""Words in a longer title of a notice."""
BARE = re.compile(r"access |l['’]|доступ|dostęp|访问|请求|アクセス|접근")
"""How verdicts begin that address nobody."""

_OWN = (
    r"(?:\b(?:your|this|ihre?[mnrs]?|deine?[mnrs]?|votre|vos|su|sus|tu|sua|seu|tuo|tua|suo|twoj\w*|twój|państwa|uw|jouw|je|din|dit|ditt)"
    r"|\b(?:ваш|vaš)\w*)(?: [\w-]{1,12}){0,2}[ -]"
)
_NET = (
    r"(?:ip\b|ip-|address|network|connection|requests?\b|access\b|visit\b|traffic|browser|device|adresse|anfrage|zugriff|zugang|netzwerk"
    r"|réseau|requête|accès|navigateur|dirección|red\b|solicitud|peticion|acceso|conexión|endereço|rede\b|acesso|solicitaç"
    r"|indirizzo|rete\b"
    r"|richiest|accesso|adres|sieci|dostęp|запрос|адрес|сет[иь]|доступ|устройств|toegang|netwerk|přístup|pristup|åtkomst|adgang|nätverk)"
)
VISIT = re.compile(
    _OWN + _NET + r"|(?:ваш|vaš)\w* (?:ip|запрос|адрес|доступ)|(?:您|你|お客様|お使い|ご利用)[^。]{0,8}"
    r"(?:ip|网络|访问|请求|操作|ネットワーク|アクセス|通信)"
    r"|귀하의 ip|bağlantınız|비정상적인 (?:접속|접근|트래픽)|ip adresiniz|erişiminiz|عنوان ip|وصولك|(?:ip|akses|jaringan) anda|ip của bạn"
)
"""What belongs to this visitor: the address, the network, the request."""
SHUT = re.compile(
    r"\bblock|denied|\bbann?ed|reject|restricted|stopped|paused|throttl|blacklist|gesperrt|abgelehnt|blockiert|eingeschränkt|bloqu"
    r"|refusé|restreint"
    r"|suspend|wstrzyman|limitat[ao]|begräns|停止|无法访问|denegad|restringid|rechazad|negad|restrit|bloccat|negato|zablok"
    r"|ograniczon|заблок|ограничен|запрещ|отклон|ч[её]рный список|engel"
    r"|kısıt|遮断|拒否|制限|차단|제한|거부|限制|拦截|禁止|被封|حظر|رفض|تقييد|geblokk|geweiger|blokiran|nekad|diblokir|bị chặn"
    r"|could not be processed"
)
"""Words for a refusal."""
ODD = re.compile(
    r"unusual|suspicious|automat|abnormal|too many|too (?:fast|quick|often)|excessive|ungewöhnlich|verdächtig|zu viele|inhabituel"
    r"|anormal|trop (?:de|grand)"
    r"|inusual|sospechos|exceso|demasiad|incomum|suspeit|muitas|troppe|insolit|anomal|sospett|zbyt wiele|za dużo|nietypow"
    r"|podejrzan|слишком (?:много|част)"
    r"|подозрительн|необычн|çok (?:sık|fazla)|olağan|şüpheli|příliš mnoho|misstänkt|风险|inusual|異常|異なる|不審|多数の|大量の"
    r"|비정상|과도|자동화|异常|[过過]多|频繁|غير عادي|كثرة|ongewo"
    r"|verdacht|te veel|ovanlig|neobvykl|szokatlan|neobișnuit|tidak wajar|bất thường"
)
"""Words for what is wrong with the visitor."""
PERSON = re.compile(
    r"robot|\bbots?\b|\bhuman|\b(?:a|una) (?:real )?persona?\b|not a machine|программа|mensch|humain|humano|umano|robô|człowiek"
    r"|робот|\bбот\b|человек|insan|ロボット|人間|로봇|사람"
    r"|机器人|真人|روبوت|إنسان|captcha|\bmens\b|képernyő|automated|验证码|画像認証|капч"
)
PROVE = re.compile(
    r"\b(?:please|tick|solve|show|prove|verify|verifying|confirm|checking|mak(?:e|ing) sure)\b|bestätig|überprüf|lösen sie|löse "
    r"|prouve|confirme|coche[rz]?|résou|vérifi"
    r"|comprob|dem(?:ue|o)str|marca |resuelv|resolva|verificando|conferma|dimostra|risolvi|completa|potwierdź|zaznacz|подтверд"
    r"|докаж|введите|пройдите|проверя"
    r"|doğrula|確認|認証を|확인|인증|验证|输入|輸入|تأكد|تحقق|controleren|bevestig|los "
)
SELF = re.compile(
    r"\byou\b|you['’]|\byour\b|\bsie\b|\bdu\b|vous|je ne suis pas|usted|\bere?s\b|você|\bsei\b|\bessere\b|jesteś|\bje\b|\bu\b"
    r"|\bвы\b|вас|您|你|お客様|をお|てください"
    r"|주세요|십시오|iniz|ınız|unuz|ünüz|أنك|visit\b"
)
PLACE = re.compile(
    r"(?:your|ihrem|deinem|votre|[st]u|seu|sua|tuo|tua|twoim|państwa|uw|jouw|je|ваш\w*|vaš\w*) (?:[\w-]{1,12} )?(?:country|region"
    r"|location|area|land|standort"
    r"|pays|région|país|región|ubicación|região|paese|area|kraju|regionie|стран|регион|regio)|ülkeniz|お住まいの(?:国|地域)|(?:您"
    r"|你)所在的?(?:国家|地区)|거주 (?:국가|지역)|بلدك"
)
CONTENT = re.compile(
    r"content|video|film|\bpage|\bsite|website|service|programme|stream|inhalt|angebot|contenu|vidéo|contenido|conteúdo|contenuto"
    r"|treść|контент|сервис"
    r"|сайт|içerik|内容|コンテンツ|ご利用いただけません|콘텐츠|محتوى|inhoud|servicio|serviço|servizio|usług"
)
NOT = re.compile(
    r"\bnot\b|n['’]t\b|unavailable|nicht|n['’]est pas|\bno\b|não|\bnon\b|\bnie\b|недоступ|\bне\b|kullanılam|いただけません"
    r"|できません|不可|无法|غير|niet|않"
)
LATER = re.compile(
    r"\b(?:will|may|might|can|could|would|never|without) |^(?:[^ ]+ )?(?:if|when(?:ever)?|how|why|what|wenn|falls|si|se|quand|если"
    r"|gdy|jeśli|als|by) "
)
"""Words about what might happen."""
ENDS = re.compile(r"[.!?](?: |$)|[。！？؟]")


def compose_kind(text: str) -> tuple[str, str] | None:
    """Returns a kind, and a sentence about this visitor: something of the visitor's with a refusal, or a
    request for a proof.

    >>> compose_kind("ihre ip-adresse 203.0.113.7 ist für 24 stunden gesperrt.")
    ('denied', 'ihre ip-adresse 203.0.113.7 ist für 24 stunden gesperrt')
    >>> compose_kind("die a7 ist am wochenende gesperrt. ihr zugang: die karte gibt es an der kasse.")
    """
    for sentence in ENDS.split(text):
        if LATER.search(sentence):
            continue
        if VISIT.search(sentence) and (SHUT.search(sentence) or ODD.search(sentence)):
            return ("denied", sentence)
        if PERSON.search(sentence) and PROVE.search(sentence) and SELF.search(sentence):
            return ("challenge", sentence)
        if PLACE.search(sentence) and NOT.search(sentence) and CONTENT.search(sentence):
            return ("denied", sentence)
    return None
