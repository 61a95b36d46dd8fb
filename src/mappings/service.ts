/**
 * Mappings of metadata: which tags of files become which fields of objects, and the other way round. See
 * docs/mappings.md. Mappings are few, and are read when they are needed; profiles are files, and are read when the
 * service starts.
 */
import type { Model } from '../datamodel/model.ts'
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { type NeededRight, requireRight } from '../platform/http/system-right.ts'
import { currentDeadline } from '../platform/limits/deadline.ts'
import type { RequestLimiter } from '../platform/limits/request-limiter.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import { confirmTask, type Task } from '../platform/values/tasks.ts'
import type { MappableRecipe, MappableRecipes, ParamsBy } from '../plugins/service.ts'
import { checkMapping, renderMapping, renderTags, unknownProfile, xmlBaseOf } from './check.ts'
import { createXmlMappings } from './export/xml.ts'
import { type Mapping, ownMappingId, ownProfile, type Profile, type Use } from './model.ts'
import { fieldsOf, loadProfiles } from './profiles.ts'
import { definedBy, readConfigs, recipeTabs, renderRecipe, withStored } from './recipes.ts'
import type { MappingInput, MappingOutput, ProfileOutput } from './schema.ts'
import * as store from './store.ts'
import { openTagCatalogue } from './tags/tags.ts'

export type { DcValue, DublinCore } from './dublin-core.ts'
export { inLanguage, joined } from './export/tags.ts'
export type { Text } from './export/values.ts'
export type { XmlField, XmlMapping, XmlMappings } from './export/xml.ts'
export { lido } from './xml/lido.ts'
export { mods } from './xml/mods.ts'
export {
  type FixedElement,
  readXmlPath,
  takesLanguages,
  type XmlElement,
  type XmlPath,
  type XmlStructure,
} from './xml/structure.ts'

export const manageMappings: NeededRight = { name: 'system.profile' }

/** A kind of setting that names mappings; checked before one is deleted. */
export interface MappingUse {
  /** The member of the answer for it: `collections`. */
  readonly name: string
  /** The number of settings that name the mapping. */
  count(tx: Tx, id: number): Promise<number>
  /** Removes the mapping from these settings. */
  remove(tx: Tx, id: number): Promise<void>
}

/** A mapping that a setting is to name. */
export interface NamedMapping {
  readonly id: number
  readonly use: Use
  /** Id of the object type for which it is to be used, if it is for one type. */
  readonly table?: number
  readonly path: string
  /** Parameters that the setting has for the recipes of the mapping. */
  readonly recipes?: { readonly sent: unknown; readonly path: string; readonly by: ParamsBy }
}

export interface MappingDeps {
  readonly db: Db
  readonly events: EventLog
  readonly datamodel: { current(): Model }
  /** Folders and files with further profiles. */
  readonly paths: readonly string[]
  /** Each request that asks recipes for their fields starts programs, so callers take turns. */
  readonly recipeRequests: RequestLimiter
}

export type MappingService = Awaited<ReturnType<typeof createMappingService>>

export async function createMappingService({ db, events, datamodel, paths, recipeRequests }: MappingDeps) {
  const tags = await openTagCatalogue()
  const profiles = await loadProfiles(paths, tags)
  const uses: MappingUse[] = []
  let plugins: Pick<MappableRecipes, 'list' | 'isEmpty'> = { list: () => Promise.resolve([]), isEmpty: () => true }

  /** @throws {AppError} `TooManyHeavyRequests` */
  async function recipesNow(): Promise<readonly MappableRecipe[]> {
    return plugins.isEmpty() ? [] : recipeRequests.run(currentDeadline(), plugins.list)
  }

  /** @throws {AppError} `ServerGeneric` */
  async function find(from: Queryable, id: number): Promise<Mapping> {
    const found = id === ownMappingId ? ownMapping() : await store.findMapping(from, id)
    if (found) return found
    throw unknownMapping(id)
  }

  function ownMapping(): Mapping {
    const profile = profiles.get(ownProfile) as Profile
    const fields = [...fieldsOf(profile).values()].map(({ name }) => ({ name, custom: false, sources: [] }))
    const { displayname, type } = profile
    return { id: ownMappingId, profile: ownProfile, displayname, table: null, type, fields, extensions: [] }
  }

  function render(mapping: Mapping): MappingOutput {
    return renderMapping(datamodel.current(), mapping, profiles.get(mapping.profile))
  }

  const eventOf = (type: 'MAPPING_INSERT' | 'MAPPING_UPDATE' | 'MAPPING_DELETE', actor: Actor, mapping: Mapping) => ({
    type,
    actor,
    basetype: 'mapping',
    schema: 'BASE',
    objectId: mapping.id,
    info: { displayname: mapping.displayname, profilename: mapping.profile },
  })

  async function rendered(wanted: readonly Profile[]): Promise<ProfileOutput[]> {
    const stored = await store.listMappings(db)
    const own = { id: ownMappingId, profile: ownProfile, displayname: ownMapping().displayname, recipes: [] }
    const byProfile = Map.groupBy([own, ...stored], ({ profile }) => profile)
    const recipes = wanted.some(({ type }) => type.plugins_import) ? await recipesNow() : []
    return wanted.map((profile) => renderProfile(profile, byProfile.get(profile.profile) ?? [], recipes))
  }

  /** `stored`: the mapping that it is to be; null: a new one. */
  async function checked(input: MappingInput, stored: Mapping | null) {
    const names = input.fields?.some(({ recipe_name: name }) => name !== undefined) === true
    const recipes = withStored(names ? await recipesNow() : [], stored)
    return checkMapping({ model: datamodel.current(), profiles, tags, recipes }, input)
  }

  return {
    find,
    profile: (name: string): Profile | undefined => profiles.get(name),
    tags,
    /** The mappings for a use, by their ids. */
    usableFor: store.mappingsFor,
    /** Values of objects for formats of XML. */
    xml: createXmlMappings({
      db,
      datamodel,
      find,
      profile: (name) => profiles.get(name),
      usableFor: store.mappingsFor,
    }),

    /** Registers kinds of settings that name mappings, when the service is composed. */
    addUses(more: readonly MappingUse[]): void {
      uses.push(...more)
    },

    /** Fields of recipes come from these from now on: they are built later. */
    useRecipes(recipes: Pick<MappableRecipes, 'list' | 'isEmpty'>): void {
      plugins = recipes
    },

    /** All profiles with their mappings, by name. */
    list: (): Promise<ProfileOutput[]> => rendered([...profiles.values()]),

    /** @throws {AppError} `ServerGeneric` */
    async readProfile(name: string): Promise<ProfileOutput> {
      const profile = profiles.get(name)
      if (!profile) throw unknownProfile(name, 'profile')
      const [wire] = await rendered([profile])
      return wire as ProfileOutput
    },

    catalogue(actor: Actor, pretty: boolean): AsyncGenerator<string> {
      requireRight(actor, manageMappings)
      return tags.json(pretty)
    },

    async read(actor: Actor, id: number): Promise<MappingOutput> {
      requireRight(actor, manageMappings)
      return render(await find(db, id))
    },

    async create(actor: Actor, input: MappingInput): Promise<MappingOutput> {
      requireRight(actor, manageMappings)
      const made = await checked(input, null)
      const mapping = await db.transaction(async (tx) => {
        const mapping = { ...made, id: await store.insertMapping(tx, made) }
        await events.append(tx, [eventOf('MAPPING_INSERT', actor, mapping)])
        return mapping
      })
      return render(mapping)
    },

    async update(actor: Actor, id: number, input: MappingInput): Promise<MappingOutput> {
      requireRight(actor, manageMappings)
      assertChangeable(id)
      const made = await checked(input, await store.findMapping(db, id))
      const mapping = { ...made, id }
      await db.transaction(async (tx) => {
        if (!(await store.updateMapping(tx, id, made))) throw unknownMapping(id)
        await events.append(tx, [eventOf('MAPPING_UPDATE', actor, mapping)])
      })
      return render(mapping)
    },

    /** Deletes a mapping. If settings name it, asks for a confirmation first; `unlink` removes it from the settings. */
    async remove(actor: Actor, id: number, policy: string | undefined): Promise<readonly Task[]> {
      requireRight(actor, manageMappings)
      if (policy !== undefined && policy !== 'delete')
        throw new AppError('UnknownDeletePolicy', { delete_policy: policy })
      assertChangeable(id)
      return db.transaction(async (tx) => {
        const mapping = await store.lockForDelete(tx, id)
        if (!mapping) throw unknownMapping(id)
        const found: string[] = []
        for (const use of uses) {
          const count = await use.count(tx, id)
          if (count > 0) found.push(`${use.name}: ${count}`)
        }
        if (found.length > 0 && policy === undefined) return [removeTask(found)]
        if (found.length > 0) for (const use of uses) await use.remove(tx, id)
        await store.deleteMapping(tx, id)
        await events.append(tx, [eventOf('MAPPING_DELETE', actor, mapping)])
        return []
      })
    },

    /**
     * Checks that settings may name these mappings, and locks these until the transaction ends.
     * @throws {AppError} `LookupNotFound`, or `ServerGeneric` for a mapping with another purpose.
     */
    async requireUsable(tx: Tx, named: readonly NamedMapping[]): Promise<void> {
      if (named.length === 0) return
      const ids = [...new Set(named.map(({ id }) => id))].filter(Number.isSafeInteger)
      const stored = await store.lockForUse(tx, ids)
      for (const { id, use, table, path, recipes } of named) {
        const mapping = id === ownMappingId ? ownMapping() : stored.get(id)
        if (!mapping) throw new AppError('LookupNotFound', { path, basetype: 'mapping', value: id })
        if (mapping.type[use] !== true) {
          throw badRequest(`${path}: the mapping ${id} is not for that (${use})`, { path, value: id, expected: use })
        }
        if (table !== undefined && mapping.table !== null && mapping.table !== table) {
          throw badRequest(`${path}: the mapping ${id} is for another object type`, { path, value: id })
        }
        if (recipes) readConfigs(recipes.sent, definedBy(mapping), recipes)
      }
    },
  }
}

function renderProfile(
  profile: Profile,
  mappings: readonly Pick<store.ListedMapping, 'id' | 'displayname' | 'recipes'>[],
  recipes: readonly MappableRecipe[],
): ProfileOutput {
  const own = profile.type.plugins_import ? recipes : []
  return {
    profile: profile.profile,
    displayname: { ...profile.displayname },
    profile_type: { ...profile.type },
    ...xmlBaseOf(profile),
    tabs: [
      ...profile.tabs.map(({ tab, text, custom, fields }) => ({
        tab,
        text: { ...text },
        custom,
        fields: fields.map((field) => ({
          ...renderTags(field.name, field.text, field),
          ...(field.strategy ? { strategy_import: field.strategy } : {}),
        })),
      })),
      ...recipeTabs(own),
    ],
    _compiled_recipes: Object.fromEntries(own.map((recipe) => [recipe.name, renderRecipe(recipe)])),
    mappings: mappings.map(({ id, displayname, recipes: needed }) => ({
      id,
      displayname: { ...displayname },
      _recipes_required: [...needed],
    })),
  }
}

export function unknownMapping(id: number | string): AppError {
  return badRequest(`There is no mapping ${String(id).slice(0, 100)}.`, { basetype: 'mapping', value: id })
}

/** @throws {AppError} `ServerGeneric` for the service's own mapping. */
function assertChangeable(id: number): void {
  if (id !== ownMappingId) return
  throw badRequest(`The mapping ${id} comes with the service; make one of your own from its profile.`, { value: id })
}

function removeTask(found: readonly string[]): Task {
  return confirmTask({
    title: 'The mapping is in use',
    message: `These name no mapping from then on:\n${found.join('\n')}`,
    name: 'delete_policy',
    value: 'delete',
  })
}
