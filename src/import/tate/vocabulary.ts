import { readRecords, type TateArtwork, type TateMovement, type TateSubject } from './records.ts'

export interface Term {
  id: number
  name: string
  /** Tate ids of the parents: one in today's data, several if a subject has several places. */
  parents: Set<number>
}

/** The records to which artworks refer and that have no file, collected from all artworks beforehand. */
export interface Vocabulary {
  artworks: number
  subjects: Map<number, Term>
  /** Movements, and the eras above them. */
  movements: Map<number, Term>
  /** Artists that the artworks name. */
  artists: Set<number>
  influences: Influence[]
}

/** A work of `artist` was made after, or in the manner of, `source`: derived from the roles of contributors. */
export interface Influence {
  artist: number
  source: number
}

/** Roles of an artist whose style was followed, in contrast to the artist who made the work. */
const followed = new Set(['after', 'prints after', 'pupil of', 'manner of', 'follower of', 'imitator of', 'style of'])

/** Reads at most `limit` artworks. */
export async function readVocabulary(file: string, limit: number): Promise<Vocabulary> {
  const vocabulary: Vocabulary = {
    artworks: 0,
    subjects: new Map(),
    movements: new Map(),
    artists: new Set(),
    influences: [],
  }
  const pairs = new Map<string, Influence>()
  for await (const record of readRecords<TateArtwork>(file)) {
    if (vocabulary.artworks === limit) break
    vocabulary.artworks++
    if (record.subjects) addSubject(record.subjects, null, vocabulary.subjects)
    for (const movement of record.movements ?? []) addMovement(movement, vocabulary.movements)
    for (const { id } of record.contributors) vocabulary.artists.add(id)
    for (const pair of influencesOf(record)) pairs.set(`${pair.artist} ${pair.source}`, pair)
  }
  vocabulary.influences = [...pairs.values()]
  return vocabulary
}

export function addMovement({ id, name, era }: TateMovement, terms: Map<number, Term>): void {
  addTerm(terms, era, null)
  addTerm(terms, { id, name }, era.id)
}

/** The terms in levels: the parents of each level are in earlier levels. */
export function inLevels(terms: ReadonlyMap<number, Term>): Term[][] {
  const depths = new Map<number, number>()
  const depthOf = (term: Term, path: ReadonlySet<number>): number => {
    const known = depths.get(term.id)
    if (known !== undefined) return known
    const parents = [...term.parents].filter((id) => !path.has(id)).map((id) => terms.get(id))
    const depth =
      Math.max(-1, ...parents.map((parent) => (parent ? depthOf(parent, new Set([...path, term.id])) : -1))) + 1
    depths.set(term.id, depth)
    return depth
  }
  const levels: Term[][] = []
  for (const term of terms.values()) {
    const depth = depthOf(term, new Set([term.id]))
    levels[depth] ??= []
    levels[depth].push(term)
  }
  return levels
}

function addSubject(node: TateSubject, parent: number | null, terms: Map<number, Term>): void {
  addTerm(terms, node, parent)
  for (const child of node.children ?? []) addSubject(child, node.id, terms)
}

function addTerm(terms: Map<number, Term>, { id, name }: { id: number; name: string }, parent: number | null): void {
  const term = terms.get(id) ?? { id, name, parents: new Set() }
  if (parent !== null) term.parents.add(parent)
  terms.set(id, term)
}

function influencesOf({ contributors }: TateArtwork): Influence[] {
  if (contributors.length < 2) return []
  const makers = contributors.filter(({ role }) => role === 'artist')
  const sources = contributors.filter(({ role }) => followed.has(role))
  return makers
    .flatMap((maker) => sources.map((source) => ({ artist: maker.id, source: source.id })))
    .filter(({ artist, source }) => artist !== source)
}
