#include "fovea/Interpreter/Handlers.h"
void fovea::interp::registerAttnHandlers(InterpreterRegistry &registry) {}
