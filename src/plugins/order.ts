import type { Plugin } from './model.ts'

/**
 * Plugins that others depend on first, else by name (decision 52). A plugin with a missing dependency, and plugins that
 * depend on each other, are placed by their names.
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
