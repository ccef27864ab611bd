"""Long dialogues between two people, with questions whose evidence is known.

Each line is one conversation: about 22,000 tokens (characters / 4) in 26 dated sessions of everyday talk, and
questions in other words than the turns that answer them. Topics recur with the other speaker and come up
again in passing, so that words alone do not settle which turn is meant; some answers make sense only after
the question that they answer.

    python dialogue.py 6 > dialogue.jsonl
"""

import json
import random
import sys

PAIRS = [("Ines", "Tobias"), ("Marlon", "Freya"), ("Sunita", "Callum"), ("Leonie", "Rafael"), ("Dmitri", "Abigail"), ("Noor", "Gregor"), ("Petra", "Kwame"), ("Bianca", "Elliot")]  # fmt: skip
MONTHS = "January February March April May June July August September October November December".split()

# lead (the other speaker's question, may be empty) | evidence, in several wordings | questions | values
TOPICS = [
    ("What do you do to switch off after a rough week?", ["Mostly {v}. It empties my head like nothing else.", "{v}, honestly. Half an hour and I am a new person."], ["How does {n} relax?", "What helps {n} de-stress?"], ["watercolours", "long baths with a podcast", "kneading dough", "swimming lengths", "chopping wood", "playing the cello", "pulling weeds", "doing jigsaws"]),
    ("", ["Big news, I handed in my notice on Friday! From next month I will be {v}.", "So it is official: I leave the firm and start {v}. Terrifying and wonderful."], ["What career change did {n} make?", "What is {n}'s new job?"], ["teaching in a primary school", "running a bike repair shop", "working for a wildlife charity", "retraining as a midwife", "driving a tram", "managing a small cinema", "keeping bees for a living"]),
    ("Is there a new member of the household I hear about?", ["Yes! We picked up {v} from the shelter on Saturday. Already sleeping on my feet.", "Guilty. {v} moved in, and the sofa is no longer mine."], ["What pet did {n} adopt?", "Which animal did {n} bring home?"], ["a one-eyed tabby", "a retired greyhound", "two rescue hens", "a very loud cockatiel", "a lop-eared rabbit", "an old dachshund", "a tortoise older than me"]),
    ("", ["I joined {v} on a whim. Everyone there was kind to the clumsy beginner.", "Guess who signed up for {v}? First session left me sore and grinning."], ["What class did {n} enrol in?", "Which course or club did {n} start attending?"], ["a pottery evening", "a bouldering group", "a choir for people who cannot sing", "swing dance lessons", "a fencing course", "an allotment society", "an improv troupe", "a capoeira group"]),
    ("", ["We drove to {v} over the long weekend, just tents and a stove. I have not seen so many stars since I was ten.", "Just back from {v}. No signal for three days, pure bliss."], ["Where did {n} go camping?", "When did {n} take a trip outdoors?"], ["the dunes up north", "the lake district", "a valley in the Pyrenees", "the Black Forest", "the cliffs near Porto", "the fjords", "the high moor"]),
    ("How is the knee, by the way?", ["Not great: the scan showed {v}, so no running until spring.", "The physio says it is {v}. Six weeks of boring exercises for me."], ["What injury does {n} have?", "Why did {n} have to stop running?"], ["a torn meniscus", "a stress fracture", "worn cartilage", "a strained tendon", "an inflamed kneecap"]),
    ("", ["My sister finally told everyone: she is {v}. We cried and ordered far too much takeaway.", "Family update! My little sister is {v}. Mum has been on the phone all day."], ["What news did {n}'s sister share?", "What is going on with {n}'s sibling?"], ["expecting twins", "moving to Montreal", "marrying her college sweetheart", "opening a bakery", "going back to medical school", "adopting a boy of four"]),
    ("What was the best thing you read lately?", ["Probably {v}. I finished it at two in the morning and just stared at the wall.", "{v}, lent to me by a neighbour. The ending wrecked me."], ["What book did {n} enjoy?", "Which novels has {n} read?"], ["a saga about lighthouse keepers", "a memoir of a mountain rescuer", "a thin novel about a piano tuner", "a whodunit set in Lisbon", "a history of salt", "poems by a coal miner's daughter", "a fantasy about talking rivers"]),
    ("", ["I made {v} from my grandmother's card, stains and all. Tasted like being seven again.", "Sunday was for cooking: {v}, from scratch. The kitchen looks like a battlefield."], ["What dish did {n} prepare?", "What family recipe has {n} cooked?"], ["plum dumplings", "a goat curry", "saffron buns", "stuffed peppers", "a fish pie", "walnut strudel", "lamb with apricots", "borscht"]),
    ("Are you still saving for something?", ["Every coin goes in the jar for {v}. Another year, maybe.", "Yes, {v}. The spreadsheet says fourteen months, my heart says tomorrow."], ["What is {n} putting money aside for?", "What big purchase does {n} dream of?"], ["a camper van", "a deposit on a flat", "a proper telescope", "a narrowboat", "a trip round Japan", "a grand piano", "a piece of woodland"]),
    ("", ["My boy came home with {v} today and refuses to take it off, even in the bath.", "Proudest parent alive: the little one won {v} at school."], ["What did {n}'s child win?", "What prize did {n}'s son or daughter bring home?"], ["a chess medal", "the spelling trophy", "a ribbon for his snail", "first place in the relay", "the science badge", "a poetry prize"]),
    ("When did you last see your dad?", ["In {v}. He has become so thin, but his jokes are as bad as ever.", "Not since {v}. I should go more often, he is alone in that house now."], ["When did {n} visit {n}'s father?", "How long has it been since {n} met a parent?"], ["early spring", "the week of the storm", "the autumn holidays", "mid July", "the days after Easter", "November"]),
    ("", ["I gave a talk about {v} at the town library. Forty people! My hands shook the whole time.", "They asked me to speak on {v} in front of the whole school, and nobody fell asleep."], ["What subject did {n} present in public?", "What speech did {n} hold?"], ["coming out late in life", "repairing old radios", "living with a stammer", "the birds of the harbour", "growing up between two languages", "grief"]),
    ("What would you do with a year off?", ["{v}, without blinking. I have had the map on my wall since college.", "Easy: {v}. Somebody just has to feed the plants."], ["What would {n} do given plenty of free time?", "What adventure does {n} dream about?"], ["Cycle to Istanbul", "Sail across the Baltic", "Walk the length of Italy", "Learn to build guitars", "Volunteer on a turtle beach", "Write that thriller at last"]),
    ("", ["I found {v} at the flea market for next to nothing! It needs love, but so do I.", "You will laugh, I came home with {v}. Where do I put it?"], ["What second-hand find did {n} buy?", "What did {n} purchase at a market?"], ["a wind-up gramophone", "a brass ship's clock", "an accordion with missing keys", "a box of glass negatives", "a green velvet armchair", "a typewriter", "a weather vane"]),
    ("Who taught you that?", ["{v}, the summer I turned twelve. I still hear that voice when I hold the tools.", "That was {v}. Never raised their voice, not once."], ["Who was {n}'s mentor?", "From whom did {n} learn the craft?"], ["My grandfather", "Our neighbour, Mrs Okafor", "An old carpenter named Silvio", "My aunt Rosalind", "A nun at my school", "My first boss"]),
    ("", ["The results came: it is {v}. At least it has a name now, and there are pills for it.", "Spent the morning at the clinic. They think {v}. I am more relieved than scared."], ["What was {n} diagnosed with?", "What medical condition does {n} live with?"], ["an underactive thyroid", "coeliac disease", "sleep apnoea", "mild asthma", "anaemia", "high blood pressure", "a gluten problem"]),
    ("Do you two have plans for the anniversary?", ["We booked {v}, just us, phones in a drawer.", "{v}! Same as on our first date, only with better shoes."], ["How will {n} celebrate the wedding anniversary?", "What did {n} and {n}'s spouse arrange for their special day?"], ["a night train to Vienna", "a table at the harbour grill", "a cabin with a wood stove", "a dance in the old ballroom", "a balloon ride"]),
    ("", ["I spent the afternoon at the {v}, handing out soup and listening. Some of those stories stay with you.", "First shift at the {v}! They gave me an apron and a name tag."], ["Where does {n} volunteer?", "How does {n} help the community?"], ["night shelter", "food bank", "refugee centre", "hospice", "repair café", "animal sanctuary", "helpline for teenagers"]),
    ("Why did you choose that necklace?", ["It stands for {v}. Gran brought it from the old country.", "For me it means {v}. I touch it before anything difficult."], ["What does {n}'s jewellery symbolise?", "What is the meaning of {n}'s pendant?"], ["courage", "my faith", "the sea we came from", "the child we lost", "freedom", "where I belong"]),
    ("", ["Our band has a gig at {v}! Three songs, one of them even finished.", "We are going to play at {v} next month. I have bought new strings and lost all sleep."], ["Where will {n} perform music?", "What concert is {n} preparing for?"], ["the harvest fair", "a wedding in a barn", "the jazz cellar", "a charity night", "the skate park opening", "my uncle's seventieth"]),
    ("What were you afraid of as a kid?", ["{v}. I slept with the hall light on until I was nine.", "Oh, {v}! I would cross the street to avoid it. Silly, looking back."], ["What frightened {n} in childhood?", "What childhood fear did {n} have?"], ["The cellar stairs", "Geese", "Thunder", "Clowns at the fair", "The portrait in the hallway", "Deep water"]),
    ("", ["I sold {v} today! A stranger paid real money for something I made.", "A gallery took {v}! Small room, bad lamps, but still."], ["What artwork did {n} sell?", "What creative success did {n} have?"], ["my first oil landscape", "three linocuts", "the big blue vase", "a series of night photographs", "the driftwood heron", "a quilt"]),
    ("How was the interview?", ["Strange! They asked about {v} for an hour. I think they liked me.", "I talked about {v} and forgot to be nervous. They call on Monday."], ["What did {n} discuss in the interview?", "What came up when {n} applied for the position?"], ["my years on the oil rig", "night shifts", "how I handle angry customers", "the gap in my CV", "sign language", "my thesis on moss"]),
    ("", ["The flat above us flooded and {v} is ruined. The insurance wants photographs of everything.", "Water everywhere. We lost {v}, and the carpet squelches."], ["What was destroyed at {n}'s place?", "What damage did {n}'s home suffer?"], ["the record collection", "the wedding album", "my sewing room", "the nursery wallpaper", "a shelf of diaries"]),
    ("What is the plan for the garden this year?", ["All {v}. The slugs can have the rest.", "I want {v}, right up to the fence. The seeds are already on the sill."], ["What is {n} growing?", "Which plants does {n} cultivate?"], ["beans and sunflowers", "old rose varieties", "pumpkins", "a patch of wild meadow", "five kinds of tomatoes", "lavender", "hops"]),
    ("", ["I started seeing {v}. We talk for fifty minutes and I come out lighter.", "Took your advice: I now have appointments with {v}. It helps more than I expected."], ["Who supports {n}'s mental health?", "What professional help did {n} seek?"], ["a grief counsellor", "a therapist in town", "a sleep coach", "a couples counsellor", "an online psychologist"]),
    ("So how did you two meet?", ["In {v}, of all places! We argued for an hour and then shared an umbrella.", "It was in {v}. I spilled coffee on those white trousers."], ["Where did {n} get to know {n}'s partner?", "How did {n}'s relationship begin?"], ["a laundrette", "a delayed train", "a queue for visas", "a first-aid course", "the emergency room", "a language exchange"]),
    ("", ["We moved at last! The new place is {v}. Boxes up to the ceiling and not a spoon to be found.", "I am writing this from {v}, our home since Tuesday."], ["Where does {n} live now?", "What kind of house did {n} move into?"], ["an old mill", "the fourth floor near the canal", "a terraced house by the brewery", "a farm with no neighbours", "a former post office", "a converted barn"]),
    ("What would you like to be remembered for?", ["For {v}, I suppose. The rest is noise.", "{v}, nothing more. My kids roll their eyes at that."], ["What legacy matters to {n}?", "What value does {n} hold most dear?"], ["being fair", "never closing the door on anyone", "making people laugh", "patience", "keeping my word"]),
    ("", ["I ran the {v} in the rain and came in almost last. Best day of the year.", "Did it! The {v}, start to finish, with blisters as proof."], ["What race did {n} complete?", "Which sporting event did {n} take part in?"], ["half marathon", "charity ten k", "hill race", "harbour triathlon", "night relay", "mud run"]),
    ("Any films you would recommend?", ["The one about {v}. I had to pause it twice to breathe.", "Watch the one with {v}! We laughed until the neighbours knocked."], ["What movie did {n} suggest?", "What has {n} watched?"], ["the deaf drummer", "two penguin keepers", "a stolen accordion", "the women of the salt mine", "an astronaut's dog", "the last video shop"]),
    ("", ["I have given up {v}. Day twelve. Please do not mention it.", "No more {v} for me since the start of the month, and I sleep like a log."], ["What habit did {n} quit?", "What has {n} stopped consuming?"], ["sugar", "cigarettes", "coffee", "meat", "social media", "wine", "late-night news"]),
    ("What is that scar from?", ["{v}, when I was nineteen and immortal.", "Oh, that? {v}. My brother still apologises every Christmas."], ["How did {n} get hurt in the past?", "What accident left a mark on {n}?"], ["A moped in the rain", "A frozen pond", "A kitchen knife", "A kite string", "Barbed wire", "A trampoline"]),
    ("", ["My mother is {v}. We take turns with the driving and try not to talk about what comes next.", "It has been hard: mum is {v}. Some days she does not know my name."], ["What is happening with {n}'s mother?", "Why is {n} caring for a parent?"], ["in hospital again", "losing her memory", "back in chemotherapy", "recovering from a stroke", "moving into care"]),
    ("What language are you learning now?", ["{v}! I can order soup and apologise.", "Fifteen minutes of {v} each morning. The owl is pleased with me."], ["What foreign tongue is {n} picking up?", "Which language does {n} study?"], ["Finnish", "Arabic", "Korean", "Welsh", "Portuguese", "Swahili", "sign language"]),
    ("", ["I inherited {v} from my great-uncle. Nobody else in the family wanted it.", "A parcel came from the lawyer: {v}. I held it and wept a bit."], ["What was left to {n} by a relative?", "What heirloom does {n} own?"], ["a pocket watch", "a cottage without a roof", "two hundred butterflies in frames", "a war diary", "a fiddle", "a set of silver spoons"]),
    ("What do you actually do all day at work?", ["I {v}, mostly. The rest is meetings about meetings.", "Officially strategy. In truth I {v}."], ["What does {n} do for a living?", "What are {n}'s duties in the office?"], ["test hearing aids", "translate contracts", "calm down tenants", "draw maps for the fire brigade", "check bridges for rust", "dub cartoons"]),
    ("", ["The council said yes! We get {v} at the end of our street. Two years of petitions.", "We won the vote: {v} will be built. I may have danced on a table."], ["What did {n}'s campaign achieve?", "What local project did {n} fight for?"], ["a playground", "a crossing for the school", "a community orchard", "a bicycle lane", "a ramp for wheelchairs", "a youth club"]),
    ("Did you sort out the thing with your brother?", ["We finally talked. He is still angry about {v}, but we hugged.", "Sort of. It all goes back to {v}. At least he picks up the phone."], ["Why did {n} fall out with a sibling?", "What was the family quarrel of {n} about?"], ["the sale of the house", "the wedding I missed", "money I borrowed", "what dad said at the funeral", "the dog"]),
    ("", ["Kids and I built {v} out of scrap in the yard. It leans, but it stands.", "Weekend project finished: {v}! Only one thumb was harmed."], ["What did {n} construct?", "What handmade thing did {n} make with the family?"], ["a tree house", "a rocket of bottles", "a rabbit palace", "a pizza oven", "a raft", "a puppet theatre"]),
    ("When is the big exam?", ["On {v}. I have cards on every wall, even in the shower.", "{v}, nine sharp. After that I never open that book again."], ["When does {n} sit the test?", "What date is {n}'s exam?"], ["the twelfth of next month", "the third Thursday in May", "the second of June", "the last Monday before the holidays", "the first of October"]),
]  # fmt: skip

OPENERS = ["Hey {o}! Long time, how have you been?", "{o}, finally! I was thinking of you this morning.", "Hi {o}, got a minute?", "Good evening {o}! What a week.", "Hello {o}! Tell me everything."]
OPENED = ["All right here, a bit tired. You?", "Better now that you write. It has been hectic.", "Hi {o}! Can't complain, although I do.", "Good, good. The weather makes me lazy.", "{o}! Perfect timing, I just sat down."]
CLOSERS = ["I have to run, the bus is here. Talk soon!", "Let us speak next week. Take care of yourself!", "Bed calls. Good night, {o}.", "Must fetch the kids. Hug!", "Enough from me. Greet everyone at home!"]
CLOSED = ["You too, {o}! Bye.", "Sleep well, and thanks for listening.", "Will do. Until then!", "Bye {o}, keep me posted.", "Same to you, see you soon."]
REACT = ["Oh wow, {o}! I did not see that coming. How do you feel about it now?", "That is really something. I am glad you told me.", "Ha, that is so you. And what did the others say?", "I am happy for you, {o}. You deserve a bit of luck for once.", "Goodness. I would have needed a strong tea after that.", "Really? I have to sit down. Since when has this been going on?", "That reminds me of my cousin, who did much the same and never regretted it.", "Lovely. Send a picture when you can, I want to see it properly."]
ECHO = ["Wait, {v}? I always thought about that too, but I never dared.", "{v}! Of all things. My cousin would be so envious.", "I told my colleague about you and {v}, and he did not believe me.", "Still thinking about {v}, to be honest. It sounded so good when you told me."]
ANSWER = ["Mixed, if I am honest. Some mornings I am sure, some I am not.", "Nobody said much. My aunt raised an eyebrow, which is a lot for her.", "It is early days. Ask me again in a month.", "Thanks, {o}. It helps that I can tell someone who does not give advice.", "I will send one tonight. The light is bad at the moment.", "For a while now. I just did not want to jinx it by talking."]
SMALL = [
    ("Did you see the fog this morning? I could not find my own gate.", "Same here! I walked past the bakery twice before I smelled it."), ("The trains are a disaster again.", "Tell me about it. I stood forty minutes next to a man with a tuba."),
    ("I bought new trainers and now I have blisters the size of coins.", "Classic. Put them on with thick socks at home first, my dad swore by it."), ("Our boiler makes a noise like an angry cat.", "Mine did too, it was air in the pipes. There is a little key for that."),
    ("Have you ever tried to fold a fitted sheet?", "There is a trick with the corners, but I forget it every single time."), ("My phone died and I felt so free for about an hour.", "And then you wanted a photograph of your lunch, I know you."),
    ("I cannot decide on a colour for the hallway.", "White. In the end it is always white, whatever the fancy name on the tin."), ("The neighbours are learning the recorder. All of them, at once.", "You have my sympathy. Headphones, or learn the drums and win."),
    ("It is so dark at five already. I turn into a bear.", "Get one of those lamps! Or move south, I would visit."), ("I have watched seven episodes in a row and regret nothing.", "Which one? No, do not tell me, I have to get up early."),
    ("Do you think cats know that it is Monday?", "They know everything and they do not care, that is their secret."), ("There was cake in the office and I had three slices, for politeness.", "Very noble of you. Somebody has to support the baker."),
    ("I lost my keys and found them in the fridge.", "Next to the butter? That happened to my mother, and the remote control was in the oven."), ("The heating bill came. I laughed, and then I put on a second jumper.", "We sit under blankets like in a shipwreck. It is almost cosy."),
    ("How do people find time to iron?", "They do not. They hang things in the bathroom and hope."), ("I met our old maths teacher in the supermarket. He remembered me!", "Of course he did, you set fire to his waste basket."),
    ("My back hurts from sitting all day. I am getting old.", "We all are. Stand up, walk round the table, sit down again, that is my sport."), ("Somebody left a single glove on our fence, and I worry about the other one.", "It is out there, searching. That is a children's book right there."),
    ("The dentist wants to see me twice this month.", "Poor you. Think of the ice cream afterwards."), ("I tried to meditate and made a shopping list instead.", "That counts. An empty fridge is the opposite of inner peace."),
]  # fmt: skip
# Near misses: the subjects of the questions, about other people or nothing in particular.
PEOPLE = ["my colleague", "the woman next door", "an old schoolmate", "my flatmate's brother", "our postman", "a friend of a friend", "my hairdresser", "the guy from the third floor", "my godson", "a cousin of mine"]
NEAR = [
    "{p} changed jobs for the third time this year and will not stop talking about it", "{p} has a new dog and it barks from six in the morning", "{p} broke an ankle on the stairs, so now everyone carries the shopping up", "{p} took a course in the evenings and dropped out after two weeks",
    "{p} keeps sending me pictures of a camping holiday, all of them of rain", "{p} is reading a book so thick that it could stop a door", "{p} cooked for twelve people and forgot the salt", "{p} wants to buy a house, with what money I do not know",
    "{p} won a prize in the lottery, enough for a pizza", "{p} gave a speech at the wedding and lost the thread", "{p} has trouble with the heart and must not carry anything", "{p} celebrated an anniversary in a place with white tablecloths",
    "{p} volunteers everywhere and is never at home", "{p} bought a ring at a market and it turned the finger green", "{p} plays in a band that has more managers than fans", "{p} is afraid of spiders and called me to remove one",
    "{p} paints, badly but with joy, and gives everything away for birthdays", "{p} had an interview and got the time zone wrong", "{p} had a leak in the bathroom and the ceiling came down", "{p} grows herbs on the balcony and sells them to the pub",
    "{p} sees a therapist and recommends it to everyone at the bus stop", "{p} met someone on a train and is now impossible to talk to", "{p} moved to the edge of town and complains about the silence", "{p} ran for the bus and pulled a muscle",
    "{p} saw a film twice because of the music", "{p} stopped eating bread and is in a terrible mood", "{p} is learning a language with an app and talks to the phone in the lift", "{p} inherited a cupboard and cannot get it through the door",
    "{p} has quarrelled with the whole family about a parking space", "{p} built a shelf and one can see it from the moon, that crooked", "{p} failed an exam and blames the pen", "{p} has a mother who phones every day at seven sharp",
]  # fmt: skip
STARTS = ["Listen to this: {t}.", "By the way, {t}.", "I heard that {t}. I had to laugh.", "Nothing much happened here, except that {t}.", "On the way home I learned that {t}. People, I tell you."]
BACK = ["No! And nobody said a word? I would have paid to see your face when you heard it.", "That sounds like half of my street. We should write it all down one day and sell it.", "Everybody needs a hobby, I suppose. At least you are never bored over there.", "Some people have all the luck, and some people have all the stories.", "Oh dear. Give them my regards, and keep a safe distance.", "I know someone exactly like that, and believe me, it does not get better with age."]
PAD = ["I still have to get used to it.", "You know how these things go with me.", "It was the talk of the whole staircase.", "I wanted you to hear it from me first.", "Anyway, that was the short version.", "Do not tell the others yet, please.", "I could talk about it for hours.", "It cost me some sleep, I admit.", "The kids think I have gone mad, of course.", "Funny how life turns.", "I had been putting it off for ages.", "Somehow it all came together last week."]


COMMON = set("a an the in on of to my and for with about at from it i is be as by or who not too no me than out every".split())
NAMING = ["When did {n} mention {w}?", "What did {n} say about {w}?", "Why is {w} important to {n}?", "How does {n} feel about {w}?", "When did {n} tell of {w}?", "What is {n}'s connection with {w}?", "In what way does {w} matter in {n}'s life?"]


def conversation(index, seed):
    r = random.Random(seed * 1000 + index)
    pair = PAIRS[index % len(PAIRS)]
    plan = []
    for who in (0, 1):
        for topic in r.sample(range(len(TOPICS)), 36):
            lead, says, asks, values = TOPICS[topic]
            # About one topic in three comes up twice, with another value each time.
            for v in r.sample(values, 2 if r.random() < 0.35 else 1):
                plan.append((who, topic, v))
    r.shuffle(plan)
    sessions = 26
    per = [plan[i::sessions] for i in range(sessions)]
    day, units, evidence, said = 6, [], {}, []
    order = 0
    month, year = r.randrange(12), 2022

    def turn(who, text):
        nonlocal order
        text = text.replace("{o}", pair[1 - who])
        text = text[0].upper() + text[1:]
        units.append({"id": f"{index}:{order}", "text": text, "speaker": pair[who], "date": date, "order": order})
        order += 1
        return units[-1]["id"]

    for s in range(sessions):
        day += r.randint(6, 16)
        if day > 28:
            day, month = day - 28, month + 1
            if month == 12:
                month, year = 0, year + 1
        date = f"{day} {MONTHS[month]} {year}"
        first = r.randrange(2)
        order += 10  # sessions are not neighbours
        turn(first, r.choice(OPENERS))
        turn(1 - first, r.choice(OPENED))
        blocks = [("fact", f) for f in per[s]] + [("small", p) for p in r.sample(SMALL, r.randint(2, 3))]
        blocks += [("near", t) for t in r.sample(NEAR, 5)]
        if said and r.random() < 0.8:
            blocks += [("echo", r.choice(said)) for _ in range(2)]
        r.shuffle(blocks)
        for kind, what in blocks:
            if kind == "small":
                a = r.randrange(2)
                turn(a, what[0])
                turn(1 - a, what[1] + (" " + r.choice(PAD) if r.random() < 0.4 else ""))
                continue
            if kind == "near":
                a = r.randrange(2)
                text = r.choice(STARTS).replace("{t}", what.replace("{p}", r.choice(PEOPLE)))
                turn(a, text + (" " + r.choice(PAD) if r.random() < 0.3 else ""))
                turn(1 - a, r.choice(BACK))
                continue
            if kind == "echo":
                who, v = what
                turn(1 - who, r.choice(ECHO).replace("{v}", v))
                turn(who, r.choice(ANSWER))
                continue
            who, topic, v = what
            lead, says, asks, _ = TOPICS[topic]
            if lead:
                turn(1 - who, lead)
            text = r.choice(says).replace("{v}", v)
            if r.random() < 0.8:
                text += " " + " ".join(r.sample(PAD, r.choice([1, 2, 2])))
            evidence.setdefault((who, topic), []).append((turn(who, text), v))
            said.append((who, v))
            turn(1 - who, r.choice(REACT) + (" " + r.choice(ECHO).replace("{v}", v) if r.random() < 0.25 else ""))
            if r.random() < 0.7:
                turn(who, r.choice(ANSWER) + (" " + r.choice(PAD) if r.random() < 0.8 else ""))
        turn(first, r.choice(CLOSERS))
        turn(1 - first, r.choice(CLOSED))
    queries = []
    for (who, topic), ids in sorted(evidence.items()):
        if r.random() < 0.5:
            ask = r.choice(TOPICS[topic][2])
            queries.append({"text": ask.replace("{n}", pair[who]), "relevant": [i for i, _ in ids]})
        # Most questions about a dialogue name part of what was said.
        for i, v in ids:
            words = [w for w in v.split() if w.lower() not in COMMON]
            kept = " ".join(r.sample(words, max(1, len(words) - r.randrange(2))))
            text = r.choice(NAMING).replace("{n}", pair[who]).replace("{w}", kept.lower())
            queries.append({"text": text, "relevant": [i]})
    return {"units": units, "queries": queries}


if __name__ == "__main__":
    for i in range(int(sys.argv[1])):
        print(json.dumps(conversation(i, 3), ensure_ascii=False))
