/**
 * A *manifest* says what a plugin is and what it adds; its *programs* are how callbacks and extensions are run. A *program*
 * is a row of *commands* in one empty folder. A *recipe* is a program that makes one file of another (a rendition), or that says
 * something of it (the class `_metadata`); *cookbooks* name recipes.
 */

import type { CustomMember } from '../../datamodel/service.ts'
import type { ParameterType } from '../../rights/service.ts'
import type { RecipeParams } from './recipe-params.ts'

/** Texts by language. */
export type Texts = Readonly<Record<string, string>>

export interface Command {
  readonly prog: string
  readonly args: readonly string[]
  /** It is given the body of the call. */
  readonly takesInput: boolean
  /** What it says is the answer. */
  readonly givesOutput: boolean
  readonly seconds: number | null
}

export interface Program {
  /** Where it stands in the manifest. */
  readonly path: string
  readonly service: string
  readonly seconds: number | null
  readonly commands: readonly Command[]
  /** It stays, and answers one line of JSON with another. */
  readonly keep: boolean
  readonly pluginUser: PluginUser | null
}

/** Whose token a program gets besides that of the caller. */
export type PluginUser =
  | { readonly kind: 'reference'; readonly reference: string; readonly optional: boolean }
  | { readonly kind: 'config'; readonly section: string; readonly parameter: string }
  | { readonly kind: 'caller' }

export interface Step {
  readonly name: string
  readonly callback: string
  /** null: of all types. */
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

/** What brings values of a type up to date. */
export interface Updater {
  readonly program: Program
  /** Records that it is given at a time. */
  readonly batchSize: number
  /** Days after which a record is asked for again. */
  readonly expiresDays: number
  /** The setting of the plugin that says another number of days; 0: none are asked for. `path`: where the manifest names it. */
  readonly interval: { readonly section: string; readonly parameter: string; readonly path: string } | null
}

/** Classes of files that renditions are made of. */
export type RecipeClass = 'audio' | 'image' | 'office' | 'video'

/** The class of recipes that say something of files. */
export const ofMetadata = '_metadata'

/** An argument of a recipe's command. */
export type RecipeArgument =
  | string
  /** The path of the file that it works on, under that name; null: one of the service. */
  | { readonly kind: 'source'; readonly name: string | null }
  /** The path of a file that it writes. */
  | { readonly kind: 'target'; readonly name: string }

export interface RecipeCommand extends Pick<Command, 'prog' | 'seconds'> {
  readonly args: readonly RecipeArgument[]
  /** The file that takes what it says; null: nothing does. */
  readonly output: string | null
}

export interface Recipe {
  /** Where it stands in the manifest. */
  readonly path: string
  readonly class: RecipeClass | typeof ofMetadata
  /** Of the files that it takes; none: all of the class. */
  readonly extensions: readonly string[]
  readonly params: RecipeParams
  readonly displayname: Texts
  /** Says what mappings can take of it, and which further parameters it has; null: mappings take nothing. */
  readonly dynamic: Program | null
  readonly service: string
  readonly seconds: number | null
  /** Of what it makes; null: as its file is called. */
  readonly extension: string | null
  readonly commands: readonly RecipeCommand[]
  /** Files that it writes of what it has found. */
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
  /** Another rendition that it is made of; empty: the original. */
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
  /** Those of the recipe itself. */
  readonly params: RecipeParams
  readonly dynamic: Program
}

/** What a plugin makes of files. */
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
  /** The folder that is served to browsers; null: none. */
  readonly staticFolder: string | null
  readonly dependencies: readonly string[]
  readonly extensions: ReadonlyMap<string, Program & { readonly contentType: string | null }>
  readonly steps: readonly Step[]
  readonly preSave: ReadonlyMap<string, Program>
  readonly transitions: ReadonlyMap<string, Program>
  /** Programs that rework exports and make files of them. */
  readonly exports: ReadonlyMap<string, Program>
  /** Programs that bring exports away. */
  readonly exportTransports: ReadonlyMap<string, Program>
  /** As it is told to front ends. */
  readonly collectionUpload: Readonly<Record<string, unknown>>
  /** Programs that change what uploads into collections make of files. */
  readonly uploads: ReadonlyMap<string, Program>
  readonly baseConfig: readonly ConfigSection[]
  readonly systemRights: readonly AddedRight[]
  readonly customTypes: ReadonlyMap<string, AddedType>
  /** Types of events, and whether these name who wrote them. */
  readonly events: ReadonlyMap<string, { readonly user: boolean }>
  /** What it makes of files. */
  readonly produce: Produce
  /** What of it has no effect here, by its place. */
  readonly unsupported: readonly string[]
}
