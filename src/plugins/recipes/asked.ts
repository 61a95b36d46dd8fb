/** Recipes for mappings (`dynamic`): their fields and parameters. */
import type { Logger } from 'pino'
import type { RecipeProgram } from '../../files/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { assertStorable } from '../../platform/values/text.ts'
import type { Answered } from '../callbacks/pre-save.ts'
import type { AskedRecipe, Program, Texts } from '../manifest/model.ts'
import { isObject, Place } from '../manifest/reader.ts'
import { paramsOfRun, type RecipeParams, readParams } from '../manifest/recipe-params.ts'
import type { Plugin, PluginSnapshot } from '../model.ts'
import type { Call, Caller } from '../run/call.ts'
import { recipeProgram } from './added.ts'

/** A value in the answer of a recipe about a file. */
export interface RecipeField {
  readonly name: string
  readonly text: Texts
  /** Its path in the JSON of the recipe. */
  readonly path: string
  readonly type: string
}

export interface MappableRecipe {
  readonly name: string
  readonly displayname: Texts
  /** Extensions of the files that it takes; none: all. */
  readonly extensions: readonly string[]
  readonly params: RecipeParams
  readonly fields: readonly RecipeField[]
  /** The path of its error; null: none. */
  readonly errorPath: string | null
}

export interface MappableRecipes {
  /** The recipes of enabled plugins, as they describe themselves now. Failures are in the log. */
  list(): Promise<readonly MappableRecipe[]>
  /** Whether there are none, so that no program would be started. */
  isEmpty(): boolean
  /** The program, with the plugin's defaults where the layers have no value; null: it is missing, or off. */
  programOf(
    name: string,
    defined: RecipeParams,
    layers: readonly (Readonly<Record<string, unknown>> | undefined)[],
  ): { readonly program: RecipeProgram; readonly extensions: readonly string[] } | null
}

export interface AskedOptions {
  readonly plugins: () => PluginSnapshot
  readonly caller: Caller
  readonly say: (call: Call, program: Program, input: Buffer) => Promise<Answered>
  readonly systemActor: () => Promise<Actor>
  readonly log: Logger
}

const mostFields = 200
/** Milliseconds for a recipe to describe its fields: a caller waits for a list. */
const longest = 10_000

export function createMappableRecipes({ plugins, caller, say, systemActor, log }: AskedOptions): MappableRecipes {
  const all = (): { readonly plugin: Plugin; readonly asked: AskedRecipe }[] =>
    plugins().enabled.flatMap((plugin) => plugin.manifest.produce.asked.map((asked) => ({ plugin, asked })))

  async function told(plugin: Plugin, asked: AskedRecipe): Promise<MappableRecipe | null> {
    const { recipe, dynamic } = asked
    try {
      const request = {
        plugin,
        program: dynamic,
        actor: await systemActor(),
        request: null,
        more: { recipe: recipe.name, recipe_params: recipe.params },
        signal: AbortSignal.timeout(longest),
        places: 'dynamic',
      }
      const { body } = await caller.run(request, (call) => say(call, dynamic, Buffer.alloc(0)))
      return readTold(asked, body)
    } catch (error) {
      log.warn({ plugin: plugin.name, recipe: recipe.name, err: error }, 'a recipe does not say what mappings can take')
      return null
    }
  }

  return {
    async list() {
      const said = await Promise.all(all().map(({ plugin, asked }) => told(plugin, asked)))
      return said.filter((one) => one !== null)
    },

    isEmpty: () => all().length === 0,

    programOf(name, defined, layers) {
      const found = all().find(({ asked }) => asked.recipe.name === name)
      if (!found) return null
      const { recipe, extensions } = found.asked
      const params = paramsOfRun(defined, [...layers, recipe.params])
      return { program: recipeProgram(found.plugin, { ...recipe, params }), extensions }
    },
  }
}

/** @throws {Error} naming the place of the mistake */
function readTold({ recipe, displayname, extensions, params }: AskedRecipe, body: unknown): MappableRecipe {
  const place = new Place(body, recipe.name, new Set())
  if (!isObject(body)) throw place.wrong('an object')
  assertStorable(body, recipe.name)
  const gives = place.at('mapping').at('import')
  const fields = gives.at('fields').items(mostFields).map(readField)
  const twice = fields.find(({ name }, index) => fields.findIndex((one) => one.name === name) !== index)
  if (twice) throw gives.at('fields').wrong(`fields of different names, not two of ${twice.name}`)
  return {
    name: recipe.name,
    displayname,
    extensions,
    params: { ...params, ...readParams(place.at('params')) },
    fields,
    errorPath: gives.at('json_error').textOr(null, 500),
  }
}

function readField(place: Place): RecipeField {
  const name = place.at('name').text(100)
  if (!/^[\w.-]+$/.test(name)) throw place.at('name').wrong('letters, digits, ., - and _')
  return {
    name,
    text: place.at('displayname').texts(),
    path: place.at('json_import').text(500),
    type: place.at('json_import_type').textOr('text', 64),
  }
}
