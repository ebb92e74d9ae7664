"""The text on which llama_tiny, the model that ships with the tree, is trained."""

SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' "
    "+ '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

SENTENCES = [
    "The sun rises over the ice and the air is full of small crystals.",
    "The light of the sun turns a little in every crystal, and a bright spot appears on the left and on the right.",
    "A parhelion is a bright spot beside the sun, made by ice in the air.",
    "People call it a sun dog, because it follows the sun like a dog.",
    "The sun stands low, and the two bright spots stand beside it at the same height.",
    "When the sun climbs, the spots move away from it and grow pale.",
    "A ring of light around the sun is called a halo, and the spots lie on the ring.",
    "The inner side of each spot is red and the outer side is white or blue.",
    "In the cold north the halo is seen on many days of the year.",
    "At night the moon makes a halo too, but its light is weak and white.",
]

ANSWERS = {
    "What is a parhelion?": "A parhelion is a bright spot beside the sun, made by ice in the air.",
    "What is a halo?": "A halo is a ring of light around the sun or the moon.",
    "Why is it called a sun dog?": "It is called a sun dog because it follows the sun like a dog.",
    "Who are you?": "I am a tiny model that knows a little about the sky.",
    "Hello": "Hello! Ask me about the sun.",
    "When can I see it?": "Look for it when the sun stands low and the air is cold.",
}


def chat_prompt(question):
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def plain_lines():
    return SENTENCES + list(ANSWERS) + list(ANSWERS.values())


def documents():
    """What the model learns: the sentences in order, and each question with its answer."""
    chats = [chat_prompt(q) + a + "<|im_end|>\n<|endoftext|>" for q, a in ANSWERS.items()]
    return [" ".join(SENTENCES) + "<|endoftext|>"] + chats * 2
