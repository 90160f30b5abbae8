"""Conversations of sixty turns: facts that changed later, and pairs of which neither took the place of the other."""

from __future__ import annotations

Pair = tuple[str, str, str]  # told first, told later, the question

CHANGED: list[list[Pair]] = [
    [
        ("My gym locker code is 7731.", "I changed the locker code to 9042.", "What is the gym locker code?"),
        ("I drive a Toyota Yaris.", "I sold the Yaris and bought a Renault Zoe.", "Which car does she drive?"),
        ("We live in Lisbon, near the river.", "We moved to Setubal last weekend.", "Where do they live?"),
        ("My dentist is Dr. Silva.", "My new dentist is Dr. Costa.", "Who is her dentist?"),
        ("The book club meets on Tuesdays.", "The book club now meets on Thursdays.", "When does the book club meet?"),
        ("I take my coffee with milk.", "I no longer take milk in my coffee.", "How does she take her coffee?"),
        (
            "My phone number ends in 4471.",
            "I got a new phone number, it ends in 2208.",
            "What does her phone number end in?",
        ),
    ],
    [
        (
            "I work as a nurse at Saint Mary's.",
            "I quit the hospital and started as a nurse at a school.",
            "Where does he work as a nurse?",
        ),
        (
            "The rent of the flat is 900 euros.",
            "The rent of the flat is 1,050 euros from May on.",
            "How much is the rent?",
        ),
        (
            "My flight to Oslo leaves at 9:15.",
            "The flight to Oslo was rescheduled to 11:40.",
            "When does the flight to Oslo leave?",
        ),
        (
            "Our project manager is Petra.",
            "Petra left, so Olga is our project manager now.",
            "Who is the project manager?",
        ),
        ("I am a vegetarian.", "I stopped being a vegetarian; I eat fish again.", "Is he a vegetarian?"),
        (
            "The wifi password is sunflower12.",
            "We replaced the wifi password, it is tulip77.",
            "What is the wifi password?",
        ),
        (
            "My favourite tea is Earl Grey.",
            "Actually, my favourite tea is rooibos these days.",
            "What is his favourite tea?",
        ),
    ],
    [
        ("The wedding is on 14 June.", "We postponed the wedding to 20 September.", "When is the wedding?"),
        ("My laptop runs Windows.", "I switched the laptop from Windows to Linux.", "What does her laptop run?"),
        ("I go running every Monday morning.", "I moved my running to Friday evening.", "When does she go running?"),
        ("Our cat is called Milo.", "We renamed the cat, it is called Otto now.", "What is the cat called?"),
        (
            "The spare key is under the flower pot.",
            "The spare key is with our neighbour instead.",
            "Where is the spare key?",
        ),
        (
            "My budget for the trip is 2,000 dollars.",
            "My budget for the trip is 1,400 dollars.",
            "What is the budget for the trip?",
        ),
    ],
]

OTHERS: list[list[Pair]] = [
    [
        ("My sister Clara lives in Porto.", "My brother Nuno lives in Braga.", "Where does the family live?"),
        ("I have a tabby cat.", "I also have an old beagle.", "Which pets does she have?"),
        ("I play the piano.", "I am learning the cello, too.", "Which instruments does she play?"),
        ("I am allergic to peanuts.", "The doctor says I am still allergic to peanuts.", "What is she allergic to?"),
        ("My favourite colour is green.", "My favourite season is autumn.", "What are her favourites?"),
        ("I read a novel by Saramago.", "I read a novel by Lispector.", "Which novels did she read?"),
        ("My mother was a baker in Evora.", "My father was a carpenter in Evora.", "What did her parents do?"),
    ],
    [
        ("I speak German.", "I speak a little Czech as well.", "Which languages does he speak?"),
        ("The keys of the office are blue.", "The keys of the cellar are red.", "What colour are the keys?"),
        ("I visited Rome in 2019.", "I visited Naples in 2022.", "Which cities did he visit?"),
        ("My son Emil is five.", "My daughter Ida is eight.", "How old are the children?"),
        (
            "The printer is on the second floor.",
            "I have not moved the printer, it is on the second floor.",
            "Where is the printer?",
        ),
        ("I ordered a desk from Malmo.", "I ordered another lamp from Malmo.", "What did he order from Malmo?"),
        ("The north office opens at eight.", "The south office opens at ten.", "When do the offices open?"),
    ],
    [
        ("I like hiking in the Alps.", "I like swimming in lakes.", "What does she like to do?"),
        (
            "My blood type is A positive.",
            "The clinic confirmed that my blood type is A positive.",
            "What is her blood type?",
        ),
        (
            "I planted tomatoes on the balcony.",
            "I planted basil on the balcony as well.",
            "What did she plant on the balcony?",
        ),
        ("My uncle Ben owns a bakery.", "My aunt Lea owns a bookshop.", "What do her relatives own?"),
        ("I finished a course in statistics.", "I finished a course in pottery.", "Which courses did she finish?"),
        ("The bike has two flat tyres.", "The car has a broken mirror.", "What is broken?"),
    ],
]

_TALK = """
The train was late again today.|Did you see the rain this morning?|I slept badly, the neighbours had a party.
The soup at lunch was too salty.|I watched a film about penguins.|My back hurts a little from the garden.
The concert yesterday was wonderful.|I could not find my umbrella.|They closed the road for repairs.
I baked bread on Sunday.|The museum was crowded.|I lost at chess twice.|The battery of the remote is empty.
I wrote a letter to an old friend.|The leaves are falling early this year.|I burnt the rice.
The lift is out of order.|I had a long call with the bank.|The shop ran out of lemons.|I dreamt of a whale.
The meeting took three hours.|I mended the curtain.|It snowed in the hills.|I queued for an hour at the post office.
The choir sang well.|I forgot to water the plants.|There was a rainbow over the bridge.|I ate too many plums.
The ferry smelled of paint.|I sorted the photographs.|A parcel came for the people upstairs.|The clock stopped.
"""
TALK = [line for part in _TALK.strip().split("\n") for line in part.split("|")]


def conversation(number: int) -> list[str]:
    """The sixty turns of a conversation, as they were said."""
    pairs = [*CHANGED[number], *OTHERS[number]]
    first, later = ([pair[place] for pair in pairs] for place in (0, 1))
    spare = (TALK * 2)[: 60 - 2 * len(pairs)]
    half = len(spare) // 2
    turns: list[str] = []
    for told, talk in ((first, spare[:half]), (later, spare[half:])):
        for place in range(max(len(told), len(talk))):
            turns += [*told[place : place + 1], *talk[place : place + 1]]
    return turns
