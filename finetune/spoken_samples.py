"""The sentences a voice speaks while it learns: always the same, so that hearings compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TOTAL = 6
"""A person's own sentences come first; those below fill up to so many."""

# For each language: a short one, a question, one with a number written out, a long one. Written for
# Timbre; between them they ask for the sounds that are rare, and none is longer than what XTTS
# speaks in one piece (its own limits go from 71 signs in Japanese to 273 in French).
SENTENCES: Mapping[str, tuple[str, str, str, str]] = {
    "en": (
        "Good morning, everyone!",
        "Would you rather walk along the river, or take the bus home?",
        "My grandfather was seventy-eight when he built this boat.",
        "Although the judge had usually enjoyed his quiet voyages, that evening's thunder made"
        " him check every window twice.",
    ),
    "es": (
        "Buenos días a todos.",
        "¿Prefieres volver caminando por el río o tomar el último autobús?",
        "Mi abuela guardaba treinta y siete cartas en una caja verde.",
        "Aunque llovía mucho, el joven guitarrista cruzó la plaza vieja, saludó a los niños y"
        " siguió tocando bajo el arco.",
    ),
    "fr": (
        "Bonjour à tous !",
        "Est-ce que tu préfères rentrer à pied ou prendre le dernier bus ?",
        "Ma voisine a planté quarante-deux oignons dans son jardin.",
        "Quand la pluie s'est enfin calmée, un vieux pêcheur a rangé ses huit filets humides"
        " et regagné sa cuisine.",
    ),
    "de": (
        "Guten Morgen zusammen!",
        "Möchtest du lieber am Fluss entlanglaufen oder mit dem Bus fahren?",
        "Mein Großvater war achtundsiebzig, als er dieses Boot baute.",
        "Obwohl es die ganze Nacht regnete, ging der junge Müller früh hinaus und pflückte"
        " zwölf süße Äpfel für die Küche.",
    ),
    "it": (
        "Buongiorno a tutti!",
        "Preferisci camminare lungo il fiume o prendere l'ultimo autobus?",
        "Mio nonno aveva settantotto anni quando costruì questa barca.",
        "Quando smise di piovere, il giovane pescatore raccolse le conchiglie più lisce e le"
        " portò in cucina a sua figlia.",
    ),
    "pt": (
        "Bom dia a todos!",
        "Você prefere caminhar pela beira do rio ou pegar o último ônibus?",
        "Minha avó guardava trinta e sete cartas numa caixa de madeira.",
        "Embora chovesse muito naquela manhã, o jovem pescador atravessou a praça,"
        " cumprimentou as crianças e não quis esperar pelo irmão.",
    ),
    "pl": (
        "Dzień dobry wszystkim!",
        "Czy wolisz wracać pieszo wzdłuż rzeki, czy pojechać autobusem?",
        "Mój dziadek miał siedemdziesiąt osiem lat, kiedy zbudował tę łódź.",
        "Chociaż całą noc padał gęsty deszcz, młody rybak wyszedł wcześnie z domu, żeby zebrać"
        " w sadzie trochę żółtych gruszek.",
    ),
    "tr": (
        "Herkese günaydın, hoş geldiniz!",
        "Nehir boyunca yürümek mi istersin, yoksa otobüse mi binelim?",
        "Dedem bu tekneyi yaptığında yetmiş sekiz yaşındaydı.",
        "Bütün gece şiddetli yağmur yağmasına rağmen genç balıkçı sabah erkenden çıktı,"
        " bahçeden biraz üzüm topladı ve çocuklara öykü anlattı.",
    ),
    "ru": (
        "Всем доброе утро!",
        "Ты хочешь пройтись вдоль реки или поедешь на автобусе?",
        "Моему деду было семьдесят восемь лет, когда он построил эту лодку.",
        "Хотя всю ночь шёл дождь, юный рыбак рано вышел из дома, собрал жёлтые груши и отнёс"
        " их бабушке на кухню.",
    ),
    "nl": (
        "Goedemorgen allemaal, welkom terug!",
        "Wil je liever langs de rivier lopen of met de bus naar huis?",
        "Mijn grootvader was achtenzeventig toen hij deze boot bouwde.",
        "Hoewel het de hele nacht regende, ging de jonge schipper vroeg naar buiten en plukte"
        " zure kersen in de tuin.",
    ),
    "cs": (
        "Dobré ráno všem!",
        "Chceš jít raději pěšky podél řeky, nebo pojedeme autobusem?",
        "Dědečkovi bylo sedmdesát osm let, když postavil tuhle loď.",
        "I když celou noc pršelo, mladý rybář vyšel brzy z domu, natrhal žluté hrušky a odnesl"
        " je babičce do kuchyně.",
    ),
    "ar": (
        "صباح الخير جميعا!",
        "هل تفضل أن تمشي على ضفة النهر أم نركب الحافلة؟",
        "كان عمر جدي ثمانية وسبعين عاما عندما بنى هذا القارب.",
        "رغم أن المطر هطل طوال الليل، خرج الصياد الشاب مبكرا وقطف بعض العنب من الحديقة ثم حكى"
        " للأطفال قصة ظريفة.",
    ),
    "zh-cn": (
        "大家早上好！",
        "你想沿着河边走回去，还是坐公共汽车？",
        "爷爷造这条船的时候已经七十八岁了。",
        "虽然昨天夜里一直下着大雨，年轻的渔夫还是很早就出了门，在院子里摘了几个熟透的黄梨，送给隔壁的孩子们。",
    ),
    "ja": (
        "みなさん、おはようございます。",
        "川沿いを歩いて帰りますか、それともバスに乗りますか？",
        "祖父がこの船を作ったのは七十八歳の時でした。",
        "一晩中激しい雨が降っていたのに、若い漁師は朝早く家を出て、庭の梨をいくつか摘み、隣の子供たちに届けました。",
    ),
    "hu": (
        "Jó reggelt mindenkinek!",
        "Inkább gyalog mennél haza a folyó mentén, vagy busszal?",
        "A nagyapám hetvennyolc éves volt, amikor ezt a hajót építette.",
        "Bár egész éjjel esett az eső, a fiatal halász korán kiment a kertbe, és szedett egy"
        " kosár sárga körtét.",
    ),
    "ko": (
        "여러분, 좋은 아침입니다!",
        "강가를 따라 걸어갈까요, 아니면 버스를 탈까요?",
        "할아버지는 일흔여덟 살에 이 배를 만드셨습니다.",
        "밤새도록 비가 세차게 쏟아졌지만, 젊은 어부는 아침 일찍 밖으로 나가 뜰에서 잘 익은 배를 따서 꼬마들에게 나누어 주었습니다.",
    ),
    "hi": (
        "आप सबको सुप्रभात!",
        "क्या आप नदी के किनारे पैदल चलेंगे या बस से घर जाएँगे?",
        "जब मेरे दादाजी ने यह नाव बनाई तब वे अठहत्तर साल के थे।",
        "रात भर तेज़ बारिश हुई, फिर भी मछुआरा सुबह जल्दी निकला और बगीचे से पके आम ले आया।",
    ),
}


def sentences_for(language: str, own: Sequence[str]) -> tuple[str, ...]:
    """
    Choose what is spoken: a person's own sentences, all of them, then fixed ones up to TOTAL.

    In a language without fixed ones it is the person's own alone: English, spoken by a voice that
    learns another language, tells nothing about it.
    """
    mine = dict.fromkeys(filter(None, (" ".join(sentence.split()) for sentence in own)))
    both = dict.fromkeys((*mine, *_fixed(language)))
    return tuple(both)[: max(TOTAL, len(mine))]


def _fixed(language: str) -> tuple[str, ...]:
    """Those of the language however its code is written: en-GB is en, zh is zh-cn."""
    code = language.strip().lower().replace("_", "-")
    first = code.partition("-")[0]
    usual = "zh-cn" if first == "zh" else first
    return SENTENCES.get(code, SENTENCES.get(usual, ()))
