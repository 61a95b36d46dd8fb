import { eachYielding } from '../../platform/process/cooperative-yield.ts'
import type { Wire } from '../masks/reader.ts'
import { computeStandard, linkedForStandard } from '../standard/compute.ts'
import type { Operation } from '../stored/content.ts'
import { loadAncestors, loadHeads, loadHistory } from '../stored/load.ts'
import { withReadableChildren } from '../stored/readable-children.ts'
import type { Head } from '../stored/rows.ts'
import { shortBytes } from './parts.ts'
import type { Run } from './run.ts'
import { linkedShort, setPerson } from './system-fields.ts'

/** Maximum number of paths of one object: a polyhierarchy can have exponentially many. */
const maxPaths = 100
/** Maximum number of ancestors on one path. */
const maxLevel = 100

/**
 * Fills in the members that are loaded once for the whole response: hierarchy, history, people, grants, members from other
 * capabilities.
 */
export async function finish(run: Run): Promise<void> {
  await Promise.all([fillHierarchyAndTitles(run), fillHistory(run), fillDetails(run), fillAcls(run)])
  // The history refers to people and standards to files, so both are loaded last.
  await Promise.all([fillPeople(run), fillFiles(run)])
  await eachYielding(run.last, (action) => action(), run.yielder)
  const { hierarchy, history, details, oldStandards, acls, people, files, last } = run
  for (const list of [hierarchy, history, details, oldStandards, acls, people, files, last]) list.length = 0
}

/** The path of an object ends with the object itself, so the titles of old versions are filled in when the paths are. */
async function fillHierarchyAndTitles(run: Run): Promise<void> {
  await fillHierarchy(run)
  await fillOldStandards(run)
}

async function fillHierarchy(run: Run): Promise<void> {
  if (run.hierarchy.length === 0) return
  const parents = new Set(run.hierarchy.flatMap(({ object }) => object.parents))
  const [ancestors, withChildren] = await Promise.all([
    loadAncestors(run.q, run.model, [...parents]),
    withReadableChildren(run.q, run.model, run.caller, [
      ...new Set(run.hierarchy.map(({ object }) => object.systemObjectId)),
    ]),
  ])
  const byId = new Map(ancestors.map((ancestor) => [ancestor.systemObjectId, ancestor]))
  for (const { object, holder } of run.hierarchy) {
    const paths = pathsOf(object, byId)
    const [first = []] = paths
    run.parts.spend(paths.reduce((sum, path) => sum + path.length, 0) * shortBytes)
    if (run.yielder.due()) await run.yielder.yield()
    const wirePath = (path: readonly Head[]) =>
      path.map((entry) => linkedShort(run, entry, entry.systemObjectId, entry.table))
    holder._level = first.length - 1
    holder._has_children = withChildren.has(object.systemObjectId)
    holder._path = wirePath(first)
    if (object.table.polyhierarchical) holder._paths = paths.map(wirePath)
  }
}

/** The paths from the top down to the object, itself included, in the order of its parents. */
function pathsOf(object: Head, ancestors: ReadonlyMap<number, Head>): Head[][] {
  const paths: Head[][] = []
  const climb = (at: Head, tail: readonly Head[]): void => {
    if (paths.length >= maxPaths) return
    const path = [at, ...tail]
    const parents = at.parents
      .map((id) => ancestors.get(id))
      .filter((parent): parent is Head => parent !== undefined && !path.includes(parent))
    if (parents.length === 0 || path.length >= maxLevel) paths.push(path)
    else for (const parent of parents) climb(parent, path)
  }
  climb(object, [])
  return paths
}

/** Expected bytes of an entry of `_changelog`. */
const historyBytes = 250

const operations: Readonly<Record<Operation, string>> = { i: 'INSERT', u: 'UPDATE', d: 'DELETE', r: 'UNDELETE' }

/** `_changelog`: the versions up to the shown one, newest first. */
async function fillHistory(run: Run): Promise<void> {
  if (run.history.length === 0) return
  const ids = new Set(run.history.map(({ object }) => object.systemObjectId))
  const entries = Map.groupBy(await loadHistory(run.q, [...ids]), (entry) => entry.systemObjectId)
  for (const { object, holder } of run.history) {
    const known = (entries.get(object.systemObjectId) ?? []).filter((entry) => entry.version <= object.version)
    run.parts.spend(known.length * historyBytes)
    if (run.yielder.due()) await run.yielder.yield()
    holder._changelog = known.map((entry) => {
      const wire: Wire = {
        version: entry.version,
        current_version: entry.version === object.version,
        latest_version: entry.version === object.latestVersion,
        operation: operations[entry.operation],
        time: entry.at.toISOString(),
        comment: entry.comment,
      }
      if (entry.byUser !== null) setPerson(run, wire, 'user', `u${entry.byUser}`)
      return wire
    })
  }
}

async function fillDetails(run: Run): Promise<void> {
  if (run.details.length === 0) return
  const ids = [...new Set(run.details.map(({ object }) => object.systemObjectId))]
  const [collections, published] = await Promise.all([
    run.deps.collectionsOf?.(run.q, run.actor, ids),
    run.deps.publishedOf?.(run.q, ids),
  ])
  for (const { object, holder } of run.details) {
    if (holder._collections !== undefined) holder._collections = collections?.get(object.systemObjectId) ?? []
    if (holder._published === undefined) continue
    const records = published?.get(object.systemObjectId) ?? []
    holder._published = records
    holder._published_count = records.length
  }
}

/** The title of an old version comes from its own content; the titles of linked objects in it are today's titles. */
async function fillOldStandards(run: Run): Promise<void> {
  if (run.oldStandards.length === 0) return
  const missing = new Set<number>()
  for (const { object } of run.oldStandards) {
    for (const id of linkedForStandard(object.table.preferredMask, object.content)) {
      if (!run.heads.has(id) && !run.loaded.has(id)) missing.add(id)
    }
  }
  for (const head of await loadHeads(run.q, run.model, [...missing])) run.heads.set(head.systemObjectId, head)
  const linked = (id: number) => (run.heads.get(id) ?? run.loaded.get(id))?.standard
  const put = ({ object, done }: (typeof run.oldStandards)[number]): void =>
    done(computeStandard(object.table.preferredMask, object.content, linked, run.deps.languages()))
  await eachYielding(run.oldStandards, put, run.yielder)
}

async function fillAcls(run: Run): Promise<void> {
  if (run.acls.length === 0) return
  const wire = await run.deps.people.renderAcls(
    run.q,
    run.acls.map(({ grants }) => grants),
    run.actor.languages,
  )
  for (const [index, { done }] of run.acls.entries()) done(wire[index])
}

async function fillPeople(run: Run): Promise<void> {
  if (run.people.length === 0) return
  const who = new Set(run.people.map((person) => person.who))
  const names = await run.deps.people.whoNames(run.q, who, run.actor.languages)
  await eachYielding(run.people, ({ done }) => done(names), run.yielder)
}

/** Expected bytes of a file with its versions. */
const fileBytes = 1500

async function fillFiles(run: Run): Promise<void> {
  if (run.files.length === 0) return
  const places = run.files.flatMap(({ files, object, uuid }) => files.map((link) => ({ link, object, uuid })))
  run.parts.spend(places.length * fileBytes)
  const format = run.options.format.long ? 'long' : 'standard'
  const shown = (await run.deps.files.shown(run.q, run.actor, places, run.options.fileDays, format)).values()
  for (const { holder, key, files } of run.files) {
    if (run.yielder.due()) await run.yielder.yield()
    holder[key] = files.map(() => run.parts.text(shown.next().value ?? []))
  }
}
