//! A web server of callbacks, for the load of the harness.

#pragma once

#include <string>
#include <vector>

/// Serves for as long as standard input is open.
void serve(const std::vector<std::string>& arguments);
