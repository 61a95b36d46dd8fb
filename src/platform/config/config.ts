import type { LaneSettings } from './job-lanes.ts'

/**
 * The version that a client sends when it changes a record (decisions.md, 1 and 20): the stored version, or, where the instance is
 * configured for such clients, the version that the change creates. Never both: that would lose updates.
 */
export type VersionConvention = 'stored' | 'next'
/** An OAuth2 client of the configuration file (`svc.services.api.oauth2Server.clients.<id>`). */
export interface OAuthClientConfig {
  readonly id: string
  /** bcrypt hash of at most 14 rounds (LIM-003); null: a public client. */
  readonly secret: string | null
  readonly redirectURIs: readonly string[]
  /** Null: all scopes may be requested. */
  readonly scopes: readonly string[] | null
  /** Whether a public client must prove the possession of its code (RFC 7636); clients with a secret may. */
  readonly pkce: 'required' | 'optional'
  /** The version that the client sends; absent: the setting of the instance. */
  readonly versionConvention?: VersionConvention
}

/**
 * The effective configuration of one process: defaults, then `svc.yml`, then the environment. Immutable. Keys in the file are under
 * `svc` (`svc.http.port`); each has an environment name (`SVC_PORT`). The table of them is keys.ts, the reader load.ts.
 */
export interface Config extends LaneSettings {
  /** Absolute path. */
  readonly dataDir: string
  /** Megabytes of this process: divided by memory/shares.ts. */
  readonly memory: number
  readonly host: string
  readonly port: number
  readonly backendHost: string
  /** Port of /metrics and the unauthenticated console; null: not served. */
  readonly backendPort: number | null
  /** The console of the backend port may also make changes. */
  readonly backendActions: boolean
  /** The console may run queries on the database. */
  readonly debugSqlQuery: boolean
  /** Without a slash at the end. */
  readonly externalUrl: string
  /** Connection string of an external PostgreSQL; null: the embedded one. */
  readonly dbDsn: string | null
  readonly dbMaxConnections: number
  /** The part after `@` in global object ids. */
  readonly databaseName: string
  readonly rootPassword: string | null
  /** The key that seals stored secrets; null: the key in the data folder. */
  readonly secretKey: string | null
  readonly secretKeyBefore: string | null
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  readonly readOnly: boolean
  readonly allowPurge: boolean
  /** Root may reset the whole instance to its initial state. */
  readonly allowPurgeAll: boolean
  /** Largest request body in bytes. */
  readonly bodyLimit: number
  /** Largest answer with objects in bytes. */
  readonly answerLimit: number
  /** Seconds in which a request must have arrived. */
  readonly requestTimeout: number
  /** Maximum number of connections at a time. */
  readonly maxConnections: number
  /** Percent of the connections that one network may have. */
  readonly quotaConnections: number
  /** Large requests of one caller that may wait. */
  readonly quotaHeavyRequests: number
  /** Bytes of one event that a client may write; events of one caller within an hour, and their bytes. */
  readonly quotaEventBytes: number
  readonly quotaEvents: number
  readonly quotaEventStorage: number
  /** Open uploads in pieces of one user, and the bytes that they announce. */
  readonly quotaUploads: number
  readonly quotaUploadBytes: number
  /** Sign-ins that one network may begin within an hour before anything is proved. */
  readonly quotaSignIns: number
  /** Deep links that one network may open within an hour without an account. */
  readonly quotaDeepLinks: number
  /** Recipients of mail by hand, or of shares, from one user within an hour. */
  readonly quotaMails: number
  /** Milliseconds from which a statement is slow; 0: no statement is. */
  readonly slowStatement: number
  /** Address of a collector of traces; null: tracing is off. */
  readonly tracingEndpoint: string | null
  /** Percentage of traces that are kept. */
  readonly tracingPercent: number
  /** Share links of one user. */
  readonly quotaTasks: number
  readonly quotaShareLinks: number
  readonly quotaPromises: number
  /** Collections of one user. */
  readonly quotaCollections: number
  /** Entries of all collections of one user. */
  readonly quotaCollectionEntries: number
  /** Exports of one user, runs of them at the same time, and archives that one caller downloads at the same time. */
  readonly quotaExports: number
  readonly quotaExportRuns: number
  readonly quotaArchives: number
  /** Users that one user creates by grants within an hour. */
  readonly quotaShares: number
  /** Sessions of one user. */
  readonly quotaSessions: number
  /** Points in time of one caller, of all callers, and hits of one. */
  readonly quotaPointsInTime: number
  /** Seconds; 0: the index is not checked. */
  readonly indexCheckPause: number
  /** Hours. */
  readonly indexCheckEvery: number
  readonly quotaAllPointsInTime: number
  readonly quotaPointInTimeHits: number
  /** Event streams of one caller. */
  readonly quotaStreams: number
  /** Seconds over which the pace of a client is measured. */
  readonly slowGrace: number
  /** Least bytes per second that a client must send or read; 0: any. */
  readonly leastRate: number
  /** Seconds for which a request may keep the database busy: one that only reads, and one that writes. */
  readonly readTimeLimit: number
  readonly writeTimeLimit: number
  /** Number of large requests that run at the same time. */
  readonly heavyRequests: number
  readonly corsOrigins: readonly string[]
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  /** Seconds that requests in flight get to finish when the service stops. */
  readonly stopTimeout: number
  readonly versionConvention: VersionConvention
  /** Words accepted beside `svc` in header and cookie names (decision 16). */
  readonly identifierAliases: readonly string[]
  /** Milliseconds that a write waits for a lock before 423. */
  readonly lockTimeout: number
  /** Absolute folders, besides the data folder, that may contain locations of files. */
  readonly fileFolders: readonly string[]
  /** Folders and files with further profiles of mappings. */
  readonly mappingPaths: readonly string[]
  /** An alarm is raised when a disk with data has fewer free megabytes; 0: disks are not checked. */
  readonly leastFreeDisk: number
  /** The program `pg_dump`: a path, or a name on the path of the machine; empty: none. */
  readonly pgDump: string
  /** Folder that files are dropped into; null: `hotfolder` in the data folder. */
  readonly hotfolderPath: string | null
  /** Bytes that must stay free on the disk of the hotfolder. */
  readonly hotfolderReserve: number
  /** Files and bytes that clients may have in the hotfolder of one collection. */
  readonly quotaHotfolderFiles: number
  readonly quotaHotfolderBytes: number
  /** Files may be fetched from private addresses, too (tests, closed networks). */
  readonly allowPrivateFiles: boolean
  /** Names, addresses and networks from which no file is fetched. */
  readonly blockedFileHosts: readonly string[]
  readonly mediaMemory: number
  readonly mediaSeconds: number
  readonly mediaDrawingSeconds: number
  readonly mediaPixels: number
  readonly mediaOutput: number
  readonly ffmpeg: string
  readonly ffprobe: string
  readonly soffice: string
  /** Processes webhooks to private addresses too (tests, closed networks). */
  readonly allowPrivateWebhooks: boolean
  /** Transports of exports reach private addresses too (tests, closed networks). */
  readonly allowPrivateExports: boolean
  /** Absolute folders that are searched for plugins when the service starts. */
  readonly pluginPaths: readonly string[]
  /** Plugins may be installed and updated over the interface: their programs run as the service. */
  readonly allowPluginInstall: boolean
  /** Plugins may be fetched from private addresses, too (tests, closed networks). */
  readonly allowPrivatePlugins: boolean
  /** `name=/path/of/the/program`: programs that plugins may run in addition to node, python3 and their own. */
  readonly pluginServices: readonly string[]
  /** Time limit in seconds for a program of a plugin whose manifest has none. */
  readonly pluginSeconds: number
  /** Seconds that a call waits for a free place. */
  readonly pluginWait: number
  /** Megabytes of memory of a program of a plugin, and of its answer. */
  readonly pluginMemory: number
  readonly pluginOutput: number
  /** Programs of one plugin that run at the same time. */
  readonly pluginPlaces: number
  /** Of what they save themselves; null: as the instance. */
  readonly pluginVersionConvention: VersionConvention | null
  /** Bytes of an answer of another server. */
  readonly outgoingAnswerLimit: number
  /** Seconds for one exchange with it. */
  readonly outgoingTimeout: number
  /** Origins, in addition to ours, to which a sign-in may lead: `https://*.example.org`, `http://localhost:*`. */
  readonly loginAllowRedirects: readonly string[]
  readonly oauthClients: readonly OAuthClientConfig[]
}
