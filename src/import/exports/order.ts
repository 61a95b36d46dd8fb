/** The order in which object types are saved: targets of links come first, unless two types link to each other. */
export function typesInOrder(links: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const done = new Set<string>()
  const begun = new Set<string>()
  const visit = (type: string): void => {
    if (begun.has(type)) return
    begun.add(type)
    for (const target of links.get(type) ?? []) visit(target)
    done.add(type)
  }
  for (const type of [...links.keys()].sort()) visit(type)
  return [...done].filter((type) => links.has(type))
}
