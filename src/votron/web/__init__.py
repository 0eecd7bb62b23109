"""The page: the perceptron game, a training run to move through, a digit to draw; and the server of what it asks for.

All learning happens in the library: the page sends moves and drawings, and draws the answers. Needs FastAPI and
uvicorn: ``pip install "votron[web]"``.

==============  ====================================================================================================
``limits``      how much of everything a visitor may have
``security``    who is answered at all: hosts, origins, token, size and time of requests, headers of answers
``schemas``     what the page sends and gets: the routes' schema
``game``        a game in the plane: its rules kept, its moves, its numbers, its boundaries
``games``       the games that are going on, and their end
``run``         the moments of a training run
``digit``       a drawing as a model sees it, and what the model says
``workshop``    the models of the page: trained when the server starts, or from a file
``app``         the routes
``server``      the socket, the signals
``lecture``     one file that replays games and a run without a server
==============  ====================================================================================================
"""
