"""How abbreviations, signs and the decimal point are said, by language."""

from __future__ import annotations

# Written as they are at their most common; a capital first letter is kept.
ABBREVIATIONS: dict[str, dict[str, str]] = {
    "en": {
        "Mr.": "Mister",
        "Mrs.": "Missus",
        "Dr.": "Doctor",
        "Prof.": "Professor",
        "Gen.": "General",
        "Col.": "Colonel",
        "Capt.": "Captain",
        "Lt.": "Lieutenant",
        "Sgt.": "Sergeant",
        "Gov.": "Governor",
        "Sen.": "Senator",
        "Rev.": "Reverend",
        "Jr.": "Junior",
        "Sr.": "Senior",
        "vs.": "versus",
        "etc.": "et cetera",
        "e.g.": "for example",
        "i.e.": "that is",
        "approx.": "approximately",
        "Dept.": "Department",
    },
    "es": {
        "Sr.": "señor",
        "Sra.": "señora",
        "Srta.": "señorita",
        "Dr.": "doctor",
        "Dra.": "doctora",
        "Ud.": "usted",
        "Uds.": "ustedes",
        "p. ej.": "por ejemplo",
        "etc.": "etcétera",
    },
    "fr": {
        "M.": "monsieur",
        "Mme": "madame",
        "Mlle": "mademoiselle",
        "Dr": "docteur",
        "etc.": "et cetera",
        "p. ex.": "par exemple",
    },
    "de": {
        "Hr.": "Herr",
        "Dr.": "Doktor",
        "Prof.": "Professor",
        "z. B.": "zum Beispiel",
        "z.B.": "zum Beispiel",
        "d. h.": "das heißt",
        "d.h.": "das heißt",
        "u. a.": "unter anderem",
        "bzw.": "beziehungsweise",
        "ca.": "circa",
        "usw.": "und so weiter",
        "evtl.": "eventuell",
        "vgl.": "vergleiche",
    },
    "it": {
        "Sig.": "signor",
        "Sig.ra": "signora",
        "Dott.": "dottor",
        "Dott.ssa": "dottoressa",
        "Prof.": "professor",
        "ecc.": "eccetera",
        "p. es.": "per esempio",
    },
    "pt": {
        "Sr.": "senhor",
        "Sra.": "senhora",
        "Dr.": "doutor",
        "Dra.": "doutora",
        "etc.": "et cetera",
        "p. ex.": "por exemplo",
    },
    "nl": {
        "dhr.": "de heer",
        "mevr.": "mevrouw",
        "dr.": "dokter",
        "bijv.": "bijvoorbeeld",
        "bv.": "bijvoorbeeld",
        "enz.": "enzovoort",
        "o.a.": "onder andere",
    },
    "pl": {
        "np.": "na przykład",
        "itd.": "i tak dalej",
        "tzn.": "to znaczy",
        "m.in.": "między innymi",
    },
    "cs": {"např.": "například", "atd.": "a tak dále", "tj.": "to jest", "tzv.": "takzvaný"},
    "ru": {
        "т.е.": "то есть",
        "т. е.": "то есть",
        "и т.д.": "и так далее",
        "и т. д.": "и так далее",
    },
    "hu": {"pl.": "például", "stb.": "satöbbi", "kb.": "körülbelül", "ún.": "úgynevezett"},
    "tr": {"vb.": "ve benzeri", "vs.": "vesaire", "örn.": "örneğin"},
}

NUMBER_SIGNS: dict[str, tuple[str, str]] = {
    "en": (r"[Nn]os?\.|№|#", "number"),
    "es": (r"[Nn]\.?º|[Nn]úm\.", "número"),
    "fr": (r"[Nn]°|[Nn]º", "numéro"),
    "de": (r"Nr\.", "Nummer"),
    "it": (r"[Nn]\.|[Nn]°", "numero"),
    "pt": (r"[Nn]\.?º", "número"),
    "nl": (r"[Nn]r\.", "nummer"),
    "pl": (r"[Nn]r", "numer"),
    "cs": (r"[Čč]\.", "číslo"),
    "ru": (r"№", "номер"),
}

PERCENT = {
    "en": "percent",
    "es": "por ciento",
    "fr": "pour cent",
    "de": "Prozent",
    "it": "per cento",
    "pt": "por cento",
    "pl": "procent",
    "tr": "yüzde",
    "ru": "процентов",
    "nl": "procent",
    "cs": "procent",
    "ar": "بالمئة",
    "hu": "százalék",
    "ko": "퍼센트",
    "ja": "パーセント",
    "zh": "百分之",
}
# 50 % is said "percent fifty".
PERCENT_FIRST = frozenset(("tr", "zh"))

AND = {
    "en": "and",
    "es": "y",
    "fr": "et",
    "de": "und",
    "it": "e",
    "pt": "e",
    "pl": "i",
    "tr": "ve",
    "ru": "и",
    "nl": "en",
    "cs": "a",
    "hu": "és",
}

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
MINUS = {
    "en": "minus",
    "es": "menos",
    "fr": "moins",
    "de": "minus",
    "it": "meno",
    "pt": "menos",
    "pl": "minus",
    "tr": "eksi",
    "ru": "минус",
    "nl": "min",
    "cs": "minus",
    "hu": "mínusz",
}

# 3-5; in the other languages the words around the number bend.
UNTIL = {"en": "to", "es": "a", "fr": "à", "de": "bis", "it": "a", "pt": "a", "nl": "tot"}

# num2words drops zeros after the point in some of these ("3,05" as three comma five in Turkish).
POINT = {
    "en": "point",
    "es": "coma",
    "fr": "virgule",
    "de": "Komma",
    "it": "virgola",
    "pt": "vírgula",
    "pl": "przecinek",
    "tr": "virgül",
    "nl": "komma",
    "cs": "celá",
    "ar": "فاصلة",
    "ko": "점",
    "ja": "点",
    "zh": "点",
}

# One and many; other languages bend the word too much to guess.
CURRENCIES: dict[str, dict[str, tuple[str, str]]] = {
    "en": {"$": ("dollar", "dollars"), "€": ("euro", "euros"), "£": ("pound", "pounds")},
    "es": {"$": ("dólar", "dólares"), "€": ("euro", "euros"), "£": ("libra", "libras")},
    "fr": {"$": ("dollar", "dollars"), "€": ("euro", "euros"), "£": ("livre", "livres")},
    "de": {"$": ("Dollar", "Dollar"), "€": ("Euro", "Euro"), "£": ("Pfund", "Pfund")},
    "it": {"$": ("dollaro", "dollari"), "€": ("euro", "euro"), "£": ("sterlina", "sterline")},
    "pt": {"$": ("dólar", "dólares"), "€": ("euro", "euros"), "£": ("libra", "libras")},
    "nl": {"$": ("dollar", "dollar"), "€": ("euro", "euro"), "£": ("pond", "pond")},
}
CENTS = {"$": ("cent", "cents"), "€": ("cent", "cents"), "£": ("penny", "pence")}

# 1.500,5 instead of 1,500.5. A space that does not break groups thousands in every language.
DECIMAL_COMMA = frozenset(("es", "fr", "de", "it", "pt", "pl", "tr", "ru", "nl", "cs", "hu"))
# 1984 is said nineteen eighty-four.
YEARS_IN_PAIRS = frozenset(("en", "de", "nl"))
