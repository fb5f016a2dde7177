// Where the bindings of a program in the torch form register themselves, for binding.cpp to apply.
// The interface is that of CUDA Agent's workspace: BindingRegistry and REGISTER_BINDING(name, function).
// A guard by name: one program may meet this file under two paths, in its own folder and in ours.
#ifndef WARPSMITH_BINDING_REGISTRY
#define WARPSMITH_BINDING_REGISTRY

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

class BindingRegistry {
 public:
  using BindingFunction = std::function<void(pybind11::module&)>;

  static BindingRegistry& getInstance() {
    static BindingRegistry registry;
    return registry;
  }

  void registerBinding(const std::string& name, BindingFunction bind) {
    entries.emplace_back(name, std::move(bind));
  }

  void applyBindings(pybind11::module& module) const {
    for (const auto& entry : entries) entry.second(module);
  }

 private:
  BindingRegistry() = default;

  std::vector<std::pair<std::string, BindingFunction>> entries;
};

struct BindingRegistrar {
  BindingRegistrar(const std::string& name, BindingRegistry::BindingFunction bind) {
    BindingRegistry::getInstance().registerBinding(name, std::move(bind));
  }
};

#define REGISTER_BINDING(name, function)            \
  static BindingRegistrar binding_registrar_##name( \
      #name, [](pybind11::module& module) { function(module); })

#endif
