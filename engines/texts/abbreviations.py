"""Abbreviations by language: dots that do not end a sentence."""

from __future__ import annotations

# Written small and without the last dot. Those of one letter, and of letters with dots between
# (e.g., z.B., т.е., p.ej.), need no line: their form tells.
ABBREVIATIONS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "mr mrs ms mx dr prof st mt ft rev hon gen col capt cmdr lt sgt cpl pvt maj adm gov "
        "sen rep pres supt insp messrs mme mlle vs viz cf approx est dept univ assn ave blvd rd hwy "
        "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri "
        "misc incl min max tel ext",
        "es": "sr sra srta sres dr dra d dña prof profa lic ing arq gral cap cnel ud uds vd vds av "
        "avda pza ej aprox tel dpto admón fdo excmo ilmo sto sta mons",
        "fr": "m mm mme mmes mlle mlles dr pr me mgr st ste av bd boul cf env ex hab tél "
        "janv févr avr juil sept oct nov déc lt cap col gén cdt",
        "de": "hr fr frl dr prof dipl ing bzw ca evtl ggf inkl exkl vgl bspw sog gest geb verh str "
        "tel zzgl abzgl max min mind jan febr feb apr aug sept okt nov dez mo di mi do fr sa so "
        "hl st jh jhd allg bes urspr ehem gegr hptm lt oblt gen mag",
        "it": "sig sigg sig.ra sig.na dott dott.ssa prof prof.ssa ing avv arch rag geom on mons "
        "gen col cap ten ca cfr es tel gent egr spett ill s.ta",
        "pt": "sr sra srta srs dr dra drs prof profa eng arq exmo exma ilmo av apt apto tel aprox "
        "ex gen cel cap ten sto sta d v.exa",
        "pl": "dr prof mgr inż hab lek p pan ks św bp abp gen płk mjr kpt por np tzn tzw tj m.in "
        "ok al ul pl os im woj pow gm godz min ur zm zob wg ds",
        "tr": "dr prof doç yrd av alb bnb bşk cad mah sok apt sn hz bkz örn yy müh mim tel "
        "ort gen kur org tuğ yzb ütğm",
        "ru": "г гг в вв ул пр пл пер д кв стр им обл р см ср напр проф акад доц инж тов гр ок "
        "руб коп тыс млн млрд чел рис табл св о ред изд сокр",
        "nl": "dhr mevr mw dr drs mr ir ing prof ds st bijv bv ca resp evt incl excl blz tel "
        "jl nl vgl wo zgn zg gen kol kpt lt jhr jkvr",
        "cs": "p pí sl dr ing mgr mudr judr phdr rndr bc prof doc gen plk kpt mjr por např tj tzv "
        "resp popř mj ul nám tř sv st tel atp tzn hl obv přibl cca",
        "hu": "dr ifj id özv prof pl ún ill kb vö stb u u.n tel utca krt szt szerk ford gr br "
        "jan febr márc ápr máj jún júl aug szept okt nov dec",
        "ar": "د أ م ص ب ق هـ أ.د ت ج س",
        "hi": "डॉ श्री श्रीमती प्रो पं सुश्री मो रु कं लि एम बी ए",
        "zh": "",
        "ja": "",
        "ko": "",
    }.items()
}

# Only before a number: "No. 5", but "No. Never."
BEFORE_NUMBERS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "no nos vol p pp art ch chap fig sec eq pt op ed",
        "es": "n núm pág págs p pp art cap vol fig",
        "fr": "n no p pp art chap vol fig",
        "de": "nr s art abs kap bd abb tab ziff §",
        "it": "n nn num p pag pagg art cap vol fig",
        "pt": "n núm pág págs p art cap vol fig",
        "pl": "nr str s art ust poz tab rys rozdz",
        "tr": "no nr s say cilt md böl",
        "ru": "№ с ст п пп гл т рис",
        "nl": "nr nrs p pag art hfst dl afb",
        "cs": "č čís s str odst čl obr tab kap",
        "hu": "sz old o évf köt",
    }.items()
}

# Both inside a sentence and at its end: a capital letter after them decides.
MAY_END = frozenset(
    word
    for words in (
        "etc inc ltd co corp jr sr bros esq a.m p.m am pm ph.d m.d b.a m.a b.c a.d b.c.e",
        "usw uvm n.chr v.chr itd itp atd apod stb vb ecc enz т.д т.п др",
    )
    for word in words.split()
)

# "am 3. Mai", "3. května", "XIV. Lajos": a dot after a number makes it an ordinal.
ORDINAL_DOTS = frozenset(
    ("de", "cs", "pl", "tr", "hu", "sk", "sl", "hr", "da", "no", "nb", "nn", "fi", "et", "lv")
)
