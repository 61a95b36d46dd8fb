/**
 * A *manifest* describes a plugin and its additions; its *programs* are the code of callbacks and extensions. A *program*
 * is a list of *commands* that run in one empty folder. A *recipe* is a program that makes a file from another (a
 * rendition), or that reads metadata of it (the class `_metadata`); *cookbooks* name recipes.
 */

import type { CustomMember } from '../../datamodel/service.ts'
import type { ParameterType } from '../../rights/service.ts'
import type { RecipeParams } from './recipe-params.ts'

/** Texts by language. */
export type Texts = Readonly<Record<string, string>>

export interface Command {
  readonly prog: string
  readonly args: readonly string[]
  /** The body of the call is its input. */
  readonly takesInput: boolean
  /** Its output is the answer. */
  readonly givesOutput: boolean
  readonly seconds: number | null
}

export interface Program {
  /** Its place in the manifest. */
  readonly path: string
  readonly service: string
  readonly seconds: number | null
  readonly commands: readonly Command[]
  /** The process is kept, and answers each line of JSON with one line. */
  readonly keep: boolean
  readonly pluginUser: PluginUser | null
}

/** The user for whom a program gets a second token besides that of the caller. */
export type PluginUser =
  | { readonly kind: 'reference'; readonly reference: string; readonly optional: boolean }
  | { readonly kind: 'config'; readonly section: string; readonly parameter: string }
  | { readonly kind: 'caller' }

export interface Step {
  readonly name: string
  readonly callback: string
  /** null: for all types. */
  readonly objecttypes: readonly string[] | null
}

/** A section of the base configuration that a plugin adds. */
export interface ConfigSection {
  readonly name: string
  readonly group: string
  readonly parameters: Readonly<Record<string, Record<string, unknown>>>
}

export interface AddedRight {
  readonly name: string
  readonly comment: string
  readonly parameters: readonly {
    readonly name: string
    readonly type: ParameterType
    readonly choices: readonly string[]
  }[]
}

/** A type of values. */
export interface AddedType {
  readonly members: readonly CustomMember[]
  readonly update: Updater | null
}

/** The program that updates values of a type. */
export interface Updater {
  readonly program: Program
  /** Records that it gets at a time. */
  readonly batchSize: number
  /** Days after which a record is updated again. */
  readonly expiresDays: number
  /** The setting of the plugin with another number of days; 0: no updates. `path`: its place in the manifest. */
  readonly interval: { readonly section: string; readonly parameter: string; readonly path: string } | null
}

/** Classes of files for which renditions can be made. */
export type RecipeClass = 'audio' | 'image' | 'office' | 'video'

/** The class of recipes that read metadata of files. */
export const ofMetadata = '_metadata'

/** An argument of a recipe's command. */
export type RecipeArgument =
  | string
  /** The path of the source file, under that name; null: a name given by the service. */
  | { readonly kind: 'source'; readonly name: string | null }
  /** The path of the file to be written. */
  | { readonly kind: 'target'; readonly name: string }

export interface RecipeCommand extends Pick<Command, 'prog' | 'seconds'> {
  readonly args: readonly RecipeArgument[]
  /** The file for its output; null: the output is not used. */
  readonly output: string | null
}

export interface Recipe {
  /** Its place in the manifest. */
  readonly path: string
  readonly class: RecipeClass | typeof ofMetadata
  /** Extensions of the files that it accepts; none: all of the class. */
  readonly extensions: readonly string[]
  readonly params: RecipeParams
  readonly displayname: Texts
  /** Says what mappings can take of it, and which further parameters it has; null: mappings take nothing. */
  readonly dynamic: Program | null
  readonly service: string
  readonly seconds: number | null
  /** The extension of its output; null: that of the file name. */
  readonly extension: string | null
  readonly commands: readonly RecipeCommand[]
  /** Files into which it writes the metadata that it has read. */
  readonly metadata: readonly { readonly file: string; readonly fulltext: boolean }[]
}

/** A recipe as it is used. */
export interface UsedRecipe extends Omit<Recipe, 'params' | 'displayname' | 'dynamic'> {
  /** `<plugin>:<cookbook>:<recipe>` */
  readonly name: string
  readonly params: Readonly<Record<string, unknown>>
}

export interface AddedRendition {
  readonly class: RecipeClass
  readonly name: string
  readonly displayname: Texts
  /** The rendition that is its source; empty: the original. */
  readonly source: string
  readonly extensions: readonly string[]
  readonly rightsManagement: boolean
  readonly group: string
  readonly recipe: UsedRecipe
}

export interface AddedMetadata {
  readonly extensions: readonly string[]
  readonly recipe: UsedRecipe
  /** It is run only where a mapping asks for it. */
  readonly onRequest: boolean
}

/** A recipe that mappings ask for what it says of a file. */
export interface AskedRecipe extends AddedMetadata {
  readonly displayname: Texts
  /** The parameters of the recipe itself. */
  readonly params: RecipeParams
  readonly dynamic: Program
}

/** The renditions and metadata that a plugin makes of files. */
export interface Produce {
  readonly renditions: readonly AddedRendition[]
  readonly metadata: readonly AddedMetadata[]
  readonly asked: readonly AskedRecipe[]
}

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly displayname: Texts
  readonly info: Texts
  readonly l10n: string | null
  readonly url: string | null
  readonly server: Readonly<Record<string, unknown>> | null
  readonly webfrontend: Readonly<Record<string, unknown>>
  readonly custom: Readonly<Record<string, unknown>> | null
  /** The folder served to browsers; null: none. */
  readonly staticFolder: string | null
  readonly dependencies: readonly string[]
  readonly extensions: ReadonlyMap<string, Program & { readonly contentType: string | null }>
  readonly steps: readonly Step[]
  readonly preSave: ReadonlyMap<string, Program>
  readonly transitions: ReadonlyMap<string, Program>
  /** Programs that change exports and make files of them. */
  readonly exports: ReadonlyMap<string, Program>
  /** Programs that send exports. */
  readonly exportTransports: ReadonlyMap<string, Program>
  /** As front ends get it. */
  readonly collectionUpload: Readonly<Record<string, unknown>>
  /** Programs that change the objects made of uploads into collections. */
  readonly uploads: ReadonlyMap<string, Program>
  readonly baseConfig: readonly ConfigSection[]
  readonly systemRights: readonly AddedRight[]
  readonly customTypes: ReadonlyMap<string, AddedType>
  /** Types of events, and whether such events name the user who wrote them. */
  readonly events: ReadonlyMap<string, { readonly user: boolean }>
  /** The renditions and metadata that it makes of files. */
  readonly produce: Produce
  /** Places of the parts that have no effect here. */
  readonly unsupported: readonly string[]
}
