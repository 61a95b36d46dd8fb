import type { Plugin } from './model.ts'

/**
 * Plugins that others depend on first, else by name (decision 52). A plugin without one that it depends on, and those that
 * depend on each other, stand where their names put them.
 */
export function inOrder(plugins: readonly Plugin[]): Plugin[] {
  const byName = new Map(plugins.map((plugin) => [plugin.name, plugin]))
  const sorted = [...byName.keys()].sort()
  const done = new Set<string>()
  const ordered: Plugin[] = []
  function add(name: string, above: ReadonlySet<string>): void {
    const plugin = byName.get(name)
    if (!plugin || done.has(name) || above.has(name)) return
    for (const dependency of [...plugin.manifest.dependencies].sort()) add(dependency, new Set([...above, name]))
    if (done.has(name)) return
    done.add(name)
    ordered.push(plugin)
  }
  for (const name of sorted) add(name, new Set())
  return ordered
}
