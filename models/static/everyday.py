"""Everyday talk for training, made from patterns and word lists written for this purpose.

READMEs hardly speak of dogs, birthdays or bad knees; a dialogue does. The sentences need not be good stories:
they only have to show the teacher each word in a plausible place. The evaluation sets have their own
patterns (../eval/), none of which is used here.
"""

import random
import re

LISTS = {
    "rel": "mum|mom|dad|sister|brother|grandma|grandpa|aunt|uncle|cousin|wife|husband|son|daughter|niece|nephew|partner|girlfriend|boyfriend|roommate|neighbour|neighbor|boss|coworker|colleague|teacher|best friend|old friend|coach|landlord|parents|kids|in-laws|grandparents|fiancé|ex|stepmother|godfather|therapist|doctor|mentor|friends|team|students|twins|baby|toddler|teenager",
    "name": "Amira|Ben|Carlos|Dana|Elif|Farid|Grace|Hugo|Imani|Jonas|Keiko|Liam|Mei|Nadia|Oscar|Priya|Quentin|Rosa|Stefan|Tara|Umar|Vera|Will|Ximena|Yusuf|Zoe|Anna|Bruno|Chloe|David|Emma|Felix|Gina|Henry|Isla|Jack|Karen|Lucas|Maria|Noah|Olivia|Peter|Rachel|Sam|Tom|Victor|Wendy",
    "pet": "dog|puppy|cat|kitten|rabbit|hamster|parrot|goldfish|turtle|guinea pig|horse|pony|budgie|snake|lizard|ferret|golden retriever|labrador|poodle|beagle|tabby",
    "food": "pizza|sushi|tacos|curry|lasagne|pancakes|risotto|ramen|dumplings|paella|roast chicken|grilled salmon|lentil soup|banana bread|apple pie|chocolate cake|cheesecake|cookies|brownies|ice cream|croissants|sourdough|bagels|hummus|falafel|salad|burgers|fries|steak|pasta|noodles|fried rice|chili|stew|pho|kebab|waffles|omelette|muffins|cupcakes|smoothies|barbecue|mac and cheese|tiramisu|gingerbread|pumpkin pie|jam|pickles|kimchi|granola|oatmeal|tofu|shrimp|oysters|tea|coffee|wine|beer|lemonade|cocktails",
    "hobby": "painting|pottery|knitting|gardening|hiking|running|cycling|swimming|yoga|pilates|climbing|surfing|skiing|snowboarding|skateboarding|photography|baking|cooking|woodworking|sewing|crochet|calligraphy|drawing|sketching|birdwatching|fishing|camping|kayaking|sailing|dancing|salsa|ballet|singing|karaoke|chess|board games|video games|reading|writing poetry|journaling|meditation|astronomy|beekeeping|brewing|origami|juggling|martial arts|karate|judo|boxing|fencing|archery|golf|tennis|badminton|basketball|football|soccer|volleyball|rugby|cricket|baseball|hockey|table tennis|ice skating|rowing|scuba diving|horse riding|weightlifting|jogging|scrapbooking|stamp collecting|model trains|stand-up comedy|improv|theatre|filmmaking|volunteering|genealogy|robotics|embroidery|quilting|candle making|pickleball|bouldering|geocaching|puzzles|magic tricks",
    "instrument": "guitar|piano|violin|drums|cello|flute|saxophone|trumpet|ukulele|harp|banjo|clarinet|accordion|bass|keyboard|harmonica",
    "place": "Paris|London|Tokyo|Rome|Barcelona|Berlin|Lisbon|Istanbul|Cairo|Nairobi|Cape Town|Mumbai|Delhi|Bangkok|Bali|Sydney|Auckland|Toronto|Montreal|Vancouver|Seattle|Chicago|Boston|New York|Miami|Denver|Texas|California|Hawaii|Alaska|Mexico|Peru|Brazil|Argentina|Chile|Iceland|Norway|Sweden|Finland|Denmark|Scotland|Ireland|Wales|Greece|Croatia|Italy|Spain|Portugal|Switzerland|Austria|Vienna|Prague|Budapest|Warsaw|Moscow|Morocco|Jordan|Vietnam|Thailand|China|Korea|Japan|Nepal|the Alps|the Rockies|Yosemite|the Grand Canyon|Amsterdam|Brussels|Dublin|Edinburgh",
    "spot": "beach|park|museum|library|gym|café|coffee shop|restaurant|cinema|theatre|zoo|aquarium|botanical garden|market|farmers market|mall|supermarket|hospital|clinic|school|university|church|mosque|temple|stadium|pool|lake|river|forest|mountains|desert|island|campsite|farm|vineyard|castle|art gallery|bookshop|bakery|pub|bar|nightclub|concert hall|community centre|playground|airport|train station|hotel|cabin|cottage|garage|basement|attic|garden|backyard|kitchen|balcony|office|workshop|studio|shelter|pet shop|pharmacy|bank|courthouse|lighthouse|waterfall|harbour|hot springs",
    "job": "nurse|teacher|software engineer|chef|lawyer|architect|designer|carpenter|electrician|plumber|accountant|journalist|photographer|musician|actor|firefighter|police officer|pilot|driver|waiter|barista|manager|consultant|researcher|scientist|librarian|social worker|counselor|therapist|dentist|vet|pharmacist|mechanic|farmer|florist|hairdresser|translator|editor|writer|novelist|illustrator|analyst|intern|freelancer|entrepreneur|salesperson|receptionist|personal trainer|tour guide|yoga teacher|tutor|professor|paramedic|surgeon|soldier|judge|tailor|bus driver|radio host",
    "company": "a startup|a bank|a hospital|a small agency|a law firm|a nonprofit|a charity|the city council|a bakery|a bookshop|a school|a game studio|a publisher|an airline|a factory|a museum|a research lab|my own business|a newspaper|a design studio|a tech company|a restaurant",
    "health": "a cold|the flu|a fever|a headache|migraines|back pain|a sprained ankle|a broken arm|a bad knee|asthma|allergies|insomnia|anxiety|depression|burnout|stress|diabetes|high blood pressure|a toothache|surgery|a concussion|food poisoning|a sore throat|arthritis|a rash|covid|panic attacks|a torn ligament|a checkup|a blood test|an operation|physiotherapy|therapy|an allergy to peanuts|an allergy to cats|lactose intolerance",
    "event": "wedding|birthday|birthday party|anniversary|graduation|baby shower|funeral|reunion|housewarming|concert|festival|marathon|race|tournament|exhibition|recital|play|conference|workshop|interview|exam|competition|parade|picnic|barbecue|road trip|camping trip|vacation|honeymoon|cruise|retreat|fundraiser|charity run|book club|date|dinner party|Christmas|Thanksgiving|Easter|Halloween|New Year's Eve|Diwali|Eid|Hanukkah|Valentine's Day|open mic night|art show|pride parade|protest|auction|bake sale|game night|movie night|sleepover|engagement|promotion|retirement party|adoption hearing|driving test|science fair",
    "thing": "car|bike|motorcycle|house|flat|apartment|phone|laptop|camera|guitar|tent|sofa|bed|lamp|mirror|painting|necklace|ring|watch|bracelet|jacket|dress|shoes|boots|sneakers|hat|scarf|sweater|backpack|suitcase|notebook|novel|book|record player|telescope|drone|console|television|fridge|oven|washing machine|dishwasher|sewing machine|toolbox|ladder|kayak|surfboard|skateboard|treadmill|blender|coffee machine|plant|cactus|roses|sunflowers|tomatoes|herbs|bookshelf|desk|chair|rug|curtains|teapot|mug|bowl|vase|quilt|blanket|stuffed animal|toy|puzzle|map|postcard|photo album|letter|ticket|poster|tattoo|earrings|sunglasses|umbrella|wallet|keys|hearing aid|glasses",
    "color": "red|blue|green|yellow|purple|pink|orange|black|white|grey|brown|turquoise|golden|silver|navy|dark|bright|pale",
    "genre": "fantasy|science fiction|mystery|crime|romance|horror|comedy|drama|documentary|thriller|history|biography|poetry|classical music|jazz|rock|pop|hip hop|country music|folk|blues|metal|opera|reggae|electronic music|musicals|westerns|anime|superhero|self-help|nature",
    "feeling": "happy|excited|nervous|anxious|proud|sad|tired|exhausted|relieved|grateful|lonely|angry|frustrated|disappointed|surprised|scared|worried|overwhelmed|calm|peaceful|hopeful|inspired|bored|jealous|embarrassed|confident|homesick|stressed|thrilled|heartbroken|content|curious|guilty|motivated|nostalgic|upset|over the moon|burnt out",
    "time": "yesterday|today|tomorrow|last week|last month|last year|last weekend|last summer|last Friday|next month|next week|next year|this weekend|two weeks ago|a few years ago|three months ago|when I was a kid|in college|on Monday|on Sunday|every morning|every Tuesday|in the evening|in spring|in January|in March|in May|in July|in August|in October|in December|on the 5th of June|since 2016|in 2019|in 2022|for ten years|for a while now|over the holidays|before work|after school|the other day|a while back",
    "weather": "sunny|rainy|snowy|windy|cold|freezing|hot|humid|foggy|stormy|cloudy|perfect|awful",
    "num": "two|three|four|five|six|seven|eight|ten|twelve|fifteen|twenty|thirty|forty|fifty|a hundred|a dozen|a couple of|several|many",
    "subject": "biology|chemistry|physics|mathematics|history|geography|literature|philosophy|psychology|economics|law|medicine|nursing|engineering|computer science|graphic design|fine arts|music|linguistics|Spanish|French|German|Italian|Japanese|Mandarin|Arabic|sign language|education|marketing|accounting|architecture|astronomy|political science|sociology|anthropology|environmental science|counseling|mental health|nutrition|coding",
    "cause": "animal rescue|homeless people|refugees|the environment|climate change|ocean cleanup|cancer research|mental health|LGBTQ rights|women's rights|disabled children|literacy|the food bank|orphans|veterans|the elderly|blood donation|tree planting|human rights|education|endangered species|youth sport|transgender people|foster children|clean water",
    "animal": "dolphins|whales|elephants|lions|deer|foxes|owls|eagles|bears|wolves|turtles|penguins|butterflies|bees|squirrels|horses|cows|sheep|goats|chickens|ducks|swans|monkeys|sharks|seals|hummingbirds|frogs",
    "trait": "kind|brave|honest|patient|funny|creative|stubborn|shy|generous|loyal|hard-working|thoughtful|ambitious|caring|open-minded|strong|talented|resilient|organised|passionate|supportive|wise|authentic",
    "chore": "the laundry|the dishes|the groceries|the taxes|the vacuuming|the ironing|the lawn|the rubbish|the cooking|the packing|the repairs|the paperwork|the cleaning|the school run|the budget|the bills",
    "goal": "save money|buy a house|move abroad|change careers|learn to drive|lose weight|run a marathon|write a book|start a business|adopt a child|have a baby|get married|quit smoking|get fit|travel the world|go back to school|learn a language|build a house|open a shop|become a vegetarian|sleep better|spend more time with family|get a dog|publish my work|win the championship|pay off my debts|record an album|retire early|find an apartment|pass my exams|get a promotion|help others|make new friends|read more|stop procrastinating|plant a garden",
    "meal": "breakfast|lunch|dinner|brunch|dessert|a snack|a picnic",
    "media": "movie|film|book|novel|series|show|podcast|album|song|play|game|musical|comic|documentary",
    "adj": "amazing|great|lovely|beautiful|wonderful|terrible|awesome|delicious|fun|boring|difficult|easy|scary|relaxing|exhausting|inspiring|interesting|weird|hilarious|cute|cosy|peaceful|gorgeous|incredible|challenging|rewarding|special|old|new|huge|tiny|expensive|cheap|broken|handmade|favourite|favorite|vintage",
}  # fmt: skip

PATTERNS = """
I went to the {spot} with my {rel} {time}.|Did you enjoy the {spot}?|We spent the whole day at the {spot} and it was {adj}.
My {rel} and I took a trip to {place} {time}.|Where did {name} go {time}?|We are planning a trip to {place} in the summer.|I used to live in {place} but moved to {place} {time}.
I have been into {hobby} {time}.|Do you still do {hobby}?|{hobby} helps me relax.|I signed up for a {hobby} class {time}.|What are {name}'s hobbies?|I love {hobby} and {hobby}, they keep me {feeling}.|My {rel} got me into {hobby}.|How long have you been doing {hobby}?
I play the {instrument}.|My {rel} is learning the {instrument}.|Which instrument does {name} play?|We played {instrument} and {instrument} at the {event}.
My {pet} is called {name}.|We adopted a {pet} {time}.|What is the name of {name}'s {pet}?|The {pet} chewed my {thing}.|I had to take the {pet} to the vet.|How many pets does {name} have?|My {pet} loves the {spot}.|Our {pet} died {time} and I am {feeling}.
I made {food} for {meal}.|My {rel} makes the best {food}.|What did you cook for {meal}?|I can't eat {food} because of {health}.|We tried {food} at a restaurant in {place}.|What is {name}'s favourite food?|{food} with {food}, yum!|I tried a new recipe for {food} and it turned out {adj}.
I work as a {job} at {company}.|My {rel} is a {job}.|I got a new job as a {job}!|What does {name} do for a living?|I lost my job at {company} {time}.|I am thinking about becoming a {job}.|{name} was promoted to {job}.|I quit {company} to become a {job}.|I have an interview at {company} {time}.
I have had {health} {time}.|My {rel} was diagnosed with {health}.|The doctor says it is {health}.|How is your {rel} after {health}?|Did you get better after {health}?|I am recovering from {health}.
My {rel}'s {event} is {time}.|The {event} was {adj}!|Are you coming to the {event}?|When is the {event}?|We celebrated the {event} at the {spot}.|How did the {event} go?|I am so {feeling} about the {event}.|Who came to the {event}?|I won {num} medals at the {event}.|We raised money for {cause} at the {event}.
I bought a {adj} {thing} {time}.|My {rel} gave me a {color} {thing} for my birthday.|I lost my {thing}.|What did {name} buy {time}?|The {thing} broke down {time}.|I painted the {thing} {color}.|This {thing} belonged to my {rel}.|What color is your {thing}?|The {thing} reminds me of my {rel}.
I have been reading a {genre} {media}.|Have you seen any good {genre} {media} lately?|What kind of {media} does {name} like?|My favourite {media} is a {genre} {media}.|That {media} made me feel {feeling}.|I am writing a {genre} {media}.
I feel {feeling} {time}.|Why are you {feeling}?|I am so {feeling}, thank you!|It makes me {feeling} to see my {rel}.|How did {name} feel about the {event}?
It was {weather} {time}.|The weather in {place} is {weather}.|I like it when it is {weather}.
I am studying {subject}.|My {rel} studied {subject} in {place}.|What did {name} study at university?|I am taking a course in {subject} {time}.|I failed my {subject} exam.|I want to teach {subject} one day.
I volunteer for {cause}.|I care a lot about {cause}.|We organised a {event} to support {cause}.|What cause does {name} support?|I joined a group that works for {cause}.
We saw {animal} at the {spot}!|My favourite animals are {animal}.|The {animal} were {adj}.
My {rel} is so {trait}.|You are very {trait} and {trait}.|What is {name} like?|I admire how {trait} you are.
I have to do {chore}.|Who does {chore} in your house?|I hate {chore}.
I want to {goal}.|My dream is to {goal}.|What are your plans for {time}?|My {rel} wants to {goal} and {goal}.|Why did {name} decide to {goal}?|I finally managed to {goal}!
I have {num} {rel}s.|We have been married for {num} years.|How many children does {name} have?|They divorced {time}.|We met {num} years ago at the {spot}.|My {rel} lives in {place}.|I grew up in {place} with my {rel}.|{name} is single and {name} is married.
My {rel} passed away {time}.|We had a baby {time}!|I got engaged to {name} {time}.|I moved in with my {rel}.|I miss my {rel} a lot.|My {rel} taught me {hobby}.
Hey {name}, how are you?|Good to see you, {name}! What's new?|Long time no see!|That sounds {adj}!|Wow, that's {adj}, {name}!|I am so happy for you.|I'm sorry to hear that.|Thanks, {name}, that means a lot to me.|Take care and see you soon!|Congratulations on the {event}!|What have you been up to {time}?|That must have been {adj}.|I totally agree.|What inspired you to start {hobby}?|Good luck with the {event}!|Let me know how it goes.|Have a great day!|You should be proud of yourself.|Family is so important.|Here is a photo of my {thing}.|Look at this picture of the {spot}!|Keep it up!|How do you stay motivated?|How do you unwind after work?|What do you do to destress?|That is a {adj} {thing}, where did you get it?
"""  # fmt: skip


def patterns():
    return [p.strip() for line in PATTERNS.strip().split("\n") for p in line.split("|") if p.strip()]


def make(count, seed=11):
    r = random.Random(seed)
    lists = {k: v.split("|") for k, v in LISTS.items()}
    every = patterns()
    fill = lambda p: re.sub(r"\{(\w+)\}", lambda m: r.choice(lists[m[1]]), p)
    out = []
    for _ in range(count):
        n = r.choice([1, 1, 1, 2, 2, 3, 5])
        text = " ".join(fill(r.choice(every)) for _ in range(n))
        if r.random() < 0.25:
            text = f"{r.choice(lists['name'])}: {text}"
        out.append(text)
    return out
