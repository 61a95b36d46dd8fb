/** The parts of an OpenAPI 3.1 document that we write. */
export interface OpenApiDocument {
  openapi: string
  info: { title: string; version: string; description: string; license: object }
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: {
    schemas: Record<string, JsonSchema>
    responses: Record<string, OpenApiResponse>
    securitySchemes: Record<string, object>
  }
}

export interface OpenApiOperation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  security: object[]
  parameters?: OpenApiParameter[]
  requestBody?: { required: boolean; content: Record<string, OpenApiMedia> }
  responses: Record<string, OpenApiResponse>
}

export interface OpenApiParameter {
  name: string
  in: 'query' | 'path' | 'header'
  required: boolean
  description: string
  schema: JsonSchema
  example?: unknown
}

export interface OpenApiMedia {
  schema?: JsonSchema
  example?: unknown
}

export interface OpenApiResponse {
  $ref?: string
  description?: string
  content?: Record<string, OpenApiMedia>
}

export interface JsonSchema {
  $ref?: string
  title?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  enum?: unknown[]
  const?: unknown
  default?: unknown
  format?: string
  minimum?: number
  maximum?: number
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  additionalProperties?: boolean | JsonSchema
  patternProperties?: Record<string, JsonSchema>
  /** The schema that the description shows instead of the one for the validation of requests. */
  'x-shown-as'?: JsonSchema
}
