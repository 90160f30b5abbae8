"""Forms: what an entity has and could have, by its shapes and by what others like it have."""
